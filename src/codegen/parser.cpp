#include "codegen/parser.h"

#include "base/error.h"
#include "codegen/failure.h"
#include "codegen/lexer.h"
#include "codegen/scope.h"

namespace ffpa_jit::codegen {

std::shared_ptr<const Template> parse_template(std::string name, std::string_view text,
                                               const Limits& limits) {
  if (text.size() > limits.source_bytes) {
    throw_error(FFPA_JIT_TEMPLATE_ERROR, "templates/{}: {} bytes; a template has at most {}", name,
                text.size(), limits.source_bytes);
  }
  try {
    auto result = std::make_shared<Template>(Source(std::move(name), text), limits);
    result->body = Parser(*result).parse();
    resolve_scopes(*result);
    return result;
  } catch (const Failure& failure) {
    throw Error(FFPA_JIT_TEMPLATE_ERROR, failure.what());
  }
}

Parser::Parser(Template& result) : result_(result), tokens_(tokenize(result.source)) {}

Body Parser::parse() { return parse_body(nullptr); }

const Token& Parser::look_ahead() const {
  return tokens_[std::min(position_ + 1, tokens_.size() - 1)];
}

const Token& Parser::take() {
  const Token& token = tokens_[position_];
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool Parser::take_if(TokenKind kind) {
  if (!current().is(kind)) return false;
  take();
  return true;
}

bool Parser::take_if_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  take();
  return true;
}

const Token& Parser::expect(TokenKind kind) {
  if (!current().is(kind)) {
    error(fmt::format("expected {}, got {}", describe(kind), describe(current())));
  }
  return take();
}

void Parser::expect_name(std::string_view name) {
  if (!take_if_name(name)) {
    error(fmt::format("expected '{}', got {}", name, describe(current())));
  }
}

void Parser::error(uint32_t offset, const std::string& message) const {
  throw Error(FFPA_JIT_TEMPLATE_ERROR, describe_error(result_.source, offset, message));
}

void Parser::add_link() {
  constexpr size_t kMostLinks = 2000;
  if (++links_ > kMostLinks) error(fmt::format("more than {} operations in one tag", kMostLinks));
}

Parser::Depth::Depth(Parser& parser) : parser_(parser) {
  size_t allowed = parser.result_.constants.limits().syntax_depth;
  if (parser.depth_ >= allowed) {
    parser.error(fmt::format("nested deeper than {} levels", allowed));
  }
  ++parser.depth_;
}

}  // namespace ffpa_jit::codegen
