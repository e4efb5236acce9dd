// Lexer: template text -> tokens, with the whitespace rules of trim_blocks, lstrip_blocks, `-` and
// `+`, and line statements (`//%`). Follows the rule tables of Jinja2's lexer, since its output
// must be the same byte for byte.
#pragma once

#include <vector>

#include "codegen/source.h"
#include "codegen/token.h"

namespace ffpa_jit::codegen {

// The last token is kEnd. Throws ffpa_jit::Error TEMPLATE_ERROR with the place.
std::vector<Token> tokenize(const Source& source);

// The value of a string literal's inside ("a\n" -> a, newline), as Python's "unicode-escape" reads
// it. Throws Failure.
std::string unescape(std::string_view text);

}  // namespace ffpa_jit::codegen
