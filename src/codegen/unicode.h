// UTF-8 text seen as Python sees a str: a sequence of code points. Strings inside the engine are
// always valid UTF-8 (checked where text enters); these functions stay memory-safe on any bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ffpa_jit::codegen {

// Offset of the first byte that is not valid UTF-8 (overlong forms and surrogates count as
// invalid); npos: all valid.
size_t find_invalid_utf8(std::string_view text);

size_t count_code_points(std::string_view text);
// Reads the code point at `offset` and advances past it.
char32_t next_code_point(std::string_view text, size_t& offset);
void append_utf8(std::string& out, char32_t code_point);
std::u32string decode_utf8(std::string_view text);
std::string encode_utf8(std::u32string_view text);

// str.isspace, also what \s matches.
bool is_space(char32_t c);
// Offset just past the whitespace that starts at `offset`.
size_t skip_space(std::string_view text, size_t offset);
// Length of `text` without its trailing whitespace.
size_t length_without_trailing_space(std::string_view text);
std::string_view strip_space(std::string_view text, bool left, bool right);
// str.splitlines() boundaries, without the ends.
bool is_line_boundary(char32_t c);

// Character classes as Python has them (unicode_tables.cpp, made by unicode_tables.py).
bool is_alphabetic(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_lowercase(char32_t c);
bool is_uppercase(char32_t c);
bool is_titlecase(char32_t c);
bool is_printable(char32_t c);
inline bool is_alphanumeric(char32_t c) {
  return is_alphabetic(c) || is_decimal(c) || is_digit(c) || is_numeric(c);
}

// str.upper, str.lower, and the title-case form of one character (str.capitalize, str.title).
std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
// The lower case of text[i], which for a sigma depends on its surroundings.
void append_lower(std::string& out, std::u32string_view text, size_t i);
void append_title(std::string& out, char32_t c);

}  // namespace ffpa_jit::codegen
