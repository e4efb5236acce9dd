// Tokens: what the lexer hands to the parser.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ffpa_jit::codegen {

enum class TokenKind : uint8_t {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,  // {% and the start of a line statement
  kBlockEnd,    // %} and the end of a line statement
  kName,
  kString,
  kInteger,
  kFloat,
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow,
  kTilde,
  kLeftBracket,
  kRightBracket,
  kLeftParen,
  kRightParen,
  kLeftBrace,
  kRightBrace,
  kEqual,
  kNotEqual,
  kGreater,
  kGreaterEqual,
  kLess,
  kLessEqual,
  kAssign,
  kDot,
  kColon,
  kPipe,
  kComma,
  kSemicolon,
  kEnd
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  uint32_t offset = 0;  // in the source
  std::string text;     // data, a name, or a string after its escapes
  int64_t integer = 0;
  double number = 0;

  bool is(TokenKind k) const { return kind == k; }
  bool is_name(std::string_view name) const { return kind == TokenKind::kName && text == name; }
};

// For messages: the name itself, or "'%}'", "end of template".
std::string describe(const Token& token);
std::string_view describe(TokenKind kind);

}  // namespace ffpa_jit::codegen
