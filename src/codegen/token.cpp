#include "codegen/token.h"

namespace ffpa_jit::codegen {

std::string_view describe(TokenKind kind) {
  switch (kind) {
    case TokenKind::kData:
      return "text";
    case TokenKind::kVariableBegin:
      return "'{{'";
    case TokenKind::kVariableEnd:
      return "'}}'";
    case TokenKind::kBlockBegin:
      return "begin of statement";
    case TokenKind::kBlockEnd:
      return "end of statement";
    case TokenKind::kName:
      return "a name";
    case TokenKind::kString:
      return "a string";
    case TokenKind::kInteger:
      return "an integer";
    case TokenKind::kFloat:
      return "a float";
    case TokenKind::kAdd:
      return "'+'";
    case TokenKind::kSub:
      return "'-'";
    case TokenKind::kMul:
      return "'*'";
    case TokenKind::kDiv:
      return "'/'";
    case TokenKind::kFloorDiv:
      return "'//'";
    case TokenKind::kMod:
      return "'%'";
    case TokenKind::kPow:
      return "'**'";
    case TokenKind::kTilde:
      return "'~'";
    case TokenKind::kLeftBracket:
      return "'['";
    case TokenKind::kRightBracket:
      return "']'";
    case TokenKind::kLeftParen:
      return "'('";
    case TokenKind::kRightParen:
      return "')'";
    case TokenKind::kLeftBrace:
      return "'{'";
    case TokenKind::kRightBrace:
      return "'}'";
    case TokenKind::kEqual:
      return "'=='";
    case TokenKind::kNotEqual:
      return "'!='";
    case TokenKind::kGreater:
      return "'>'";
    case TokenKind::kGreaterEqual:
      return "'>='";
    case TokenKind::kLess:
      return "'<'";
    case TokenKind::kLessEqual:
      return "'<='";
    case TokenKind::kAssign:
      return "'='";
    case TokenKind::kDot:
      return "'.'";
    case TokenKind::kColon:
      return "':'";
    case TokenKind::kPipe:
      return "'|'";
    case TokenKind::kComma:
      return "','";
    case TokenKind::kSemicolon:
      return "';'";
    case TokenKind::kEnd:
      return "end of template";
  }
  return "token";
}

std::string describe(const Token& token) {
  if (token.kind == TokenKind::kName) return "'" + token.text + "'";
  return std::string(describe(token.kind));
}

}  // namespace ffpa_jit::codegen
