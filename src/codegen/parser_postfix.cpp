// What follows an operand: attributes, subscripts, calls, filters, tests.
#include "codegen/parser.h"

namespace ffpa_jit::codegen {
namespace {

bool starts_test_argument(const Token& token) {
  switch (token.kind) {
    case TokenKind::kName:
      return token.text != "else" && token.text != "or" && token.text != "and";
    case TokenKind::kString:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
    case TokenKind::kLeftBracket:
    case TokenKind::kLeftBrace:
      return true;
    default:
      return false;
  }
}

}  // namespace

ExprPtr Parser::parse_postfix(ExprPtr expr) {
  for (;;) {
    if (current().is(TokenKind::kDot) || current().is(TokenKind::kLeftBracket)) {
      expr = parse_subscript(std::move(expr));
    } else if (current().is(TokenKind::kLeftParen)) {
      expr = parse_call(std::move(expr));
    } else {
      return expr;
    }
  }
}

ExprPtr Parser::parse_filters_and_tests(ExprPtr expr) {
  for (;;) {
    if (current().is(TokenKind::kPipe)) {
      expr = parse_filter_chain(std::move(expr), false);
    } else if (current().is_name("is")) {
      expr = parse_test(std::move(expr));
    } else if (current().is(TokenKind::kLeftParen)) {
      expr = parse_call(std::move(expr));
    } else {
      return expr;
    }
  }
}

ExprPtr Parser::parse_subscript(ExprPtr object) {
  add_link();
  const Token& token = take();
  if (token.is(TokenKind::kDot)) {
    const Token& attribute = take();
    if (attribute.is(TokenKind::kName)) {
      return std::make_unique<AttributeExpr>(attribute.offset, std::move(object),
                                             intern(attribute.text));
    }
    if (!attribute.is(TokenKind::kInteger)) error(attribute.offset, "expected a name or a number");
    auto index = std::make_unique<ConstExpr>(attribute.offset, Value::integer(attribute.integer));
    return std::make_unique<SubscriptExpr>(token.offset, std::move(object), std::move(index));
  }
  std::vector<ExprPtr> items;
  while (!current().is(TokenKind::kRightBracket)) {
    if (!items.empty()) expect(TokenKind::kComma);
    items.push_back(parse_subscript_item());
  }
  expect(TokenKind::kRightBracket);
  ExprPtr index;
  if (items.size() == 1) {
    index = std::move(items.front());
  } else {
    auto tuple = std::make_unique<SequenceExpr>(ExprKind::kTuple, token.offset);
    tuple->items = std::move(items);
    index = std::move(tuple);
  }
  return std::make_unique<SubscriptExpr>(token.offset, std::move(object), std::move(index));
}

ExprPtr Parser::parse_subscript_item() {
  auto slice = std::make_unique<SliceExpr>(current().offset);
  if (!current().is(TokenKind::kColon)) {
    ExprPtr first = parse_expression();
    if (!current().is(TokenKind::kColon)) return first;
    slice->start = std::move(first);
  }
  take();
  auto ends = [&] {
    return current().is(TokenKind::kRightBracket) || current().is(TokenKind::kComma);
  };
  if (!current().is(TokenKind::kColon) && !ends()) slice->stop = parse_expression();
  if (take_if(TokenKind::kColon) && !ends()) slice->step = parse_expression();
  return slice;
}

Arguments Parser::parse_arguments() {
  Arguments result;
  uint32_t open = expect(TokenKind::kLeftParen).offset;
  auto require = [&](bool in_order) {
    if (!in_order)
      error(open,
            "invalid syntax for a call: positional arguments, then keywords, then *, then **");
  };
  bool first = true;
  while (!current().is(TokenKind::kRightParen)) {
    if (!first) {
      expect(TokenKind::kComma);
      if (current().is(TokenKind::kRightParen)) break;
    }
    first = false;
    if (take_if(TokenKind::kMul)) {
      require(!result.star && !result.star_star);
      result.star = parse_expression();
    } else if (take_if(TokenKind::kPow)) {
      require(!result.star_star);
      result.star_star = parse_expression();
    } else if (current().is(TokenKind::kName) && look_ahead().is(TokenKind::kAssign)) {
      require(!result.star_star);
      const String* key = intern(take().text);
      take();
      for (const auto& [name, value] : result.keyword) {
        if (name->text == key->text)
          error(open, fmt::format("argument '{}' is given twice", key->text));
      }
      result.keyword.emplace_back(key, parse_expression());
    } else {
      require(!result.star && !result.star_star && result.keyword.empty());
      result.positional.push_back(parse_expression());
    }
  }
  expect(TokenKind::kRightParen);
  return result;
}

ExprPtr Parser::parse_call(ExprPtr callee) {
  add_link();
  auto call = std::make_unique<CallExpr>(callee->offset);
  call->callee = std::move(callee);
  call->arguments = parse_arguments();
  return call;
}

std::string Parser::parse_dotted_name() {
  std::string name = expect(TokenKind::kName).text;
  while (take_if(TokenKind::kDot)) name += "." + expect(TokenKind::kName).text;
  return name;
}

ExprPtr Parser::parse_filter_chain(ExprPtr input, bool first_is_bare) {
  while (first_is_bare || current().is(TokenKind::kPipe)) {
    if (!first_is_bare) take();
    first_is_bare = false;
    add_link();
    auto filter = std::make_unique<FilterExpr>(current().offset);
    filter->name = parse_dotted_name();
    if (current().is(TokenKind::kLeftParen)) filter->arguments = parse_arguments();
    filter->input = std::move(input);
    input = std::move(filter);
  }
  return input;
}

ExprPtr Parser::parse_test(ExprPtr input) {
  add_link();
  take();  // `is`
  bool negated = take_if_name("not");
  auto test = std::make_unique<TestExpr>(current().offset);
  test->input = std::move(input);
  test->name = parse_dotted_name();
  uint32_t offset = test->offset;
  if (current().is(TokenKind::kLeftParen)) {
    test->arguments = parse_arguments();
  } else if (starts_test_argument(current())) {
    if (current().is_name("is")) error("tests cannot be chained with `is`");
    test->arguments.positional.push_back(parse_postfix(parse_primary()));
  }
  if (!negated) return test;
  return std::make_unique<UnaryExpr>(offset, UnaryOp::kNot, std::move(test));
}

}  // namespace ffpa_jit::codegen
