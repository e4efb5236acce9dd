// Expressions: one function per level of precedence, as in Jinja2's parser.
#include "codegen/parser.h"

namespace ffpa_jit::codegen {
namespace {

bool compare_operator(TokenKind kind, CompareOp& op) {
  switch (kind) {
    case TokenKind::kEqual:
      op = CompareOp::kEq;
      return true;
    case TokenKind::kNotEqual:
      op = CompareOp::kNe;
      return true;
    case TokenKind::kLess:
      op = CompareOp::kLt;
      return true;
    case TokenKind::kLessEqual:
      op = CompareOp::kLe;
      return true;
    case TokenKind::kGreater:
      op = CompareOp::kGt;
      return true;
    case TokenKind::kGreaterEqual:
      op = CompareOp::kGe;
      return true;
    default:
      return false;
  }
}

bool product_operator(TokenKind kind, BinaryOp& op) {
  switch (kind) {
    case TokenKind::kMul:
      op = BinaryOp::kMul;
      return true;
    case TokenKind::kDiv:
      op = BinaryOp::kDiv;
      return true;
    case TokenKind::kFloorDiv:
      op = BinaryOp::kFloorDiv;
      return true;
    case TokenKind::kMod:
      op = BinaryOp::kMod;
      return true;
    default:
      return false;
  }
}

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

ExprPtr Parser::parse_expression(bool with_condition) {
  Depth depth(*this);
  return with_condition ? parse_condition() : parse_or();
}

ExprPtr Parser::parse_condition() {
  uint32_t offset = current().offset;
  ExprPtr expr = parse_or();
  while (take_if_name("if")) {
    add_link();
    Depth depth(*this);
    auto condition = std::make_unique<ConditionExpr>(offset);
    condition->then = std::move(expr);
    condition->test = parse_or();
    if (take_if_name("else")) condition->otherwise = parse_condition();
    expr = std::move(condition);
    offset = current().offset;
  }
  return expr;
}

ExprPtr Parser::parse_or() {
  uint32_t offset = current().offset;
  ExprPtr left = parse_and();
  while (take_if_name("or")) {
    add_link();
    left = std::make_unique<LogicalExpr>(offset, false, std::move(left), parse_and());
  }
  return left;
}

ExprPtr Parser::parse_and() {
  uint32_t offset = current().offset;
  ExprPtr left = parse_not();
  while (take_if_name("and")) {
    add_link();
    left = std::make_unique<LogicalExpr>(offset, true, std::move(left), parse_not());
  }
  return left;
}

ExprPtr Parser::parse_not() {
  if (!current().is_name("not")) return parse_compare();
  Depth depth(*this);
  uint32_t offset = take().offset;
  return std::make_unique<UnaryExpr>(offset, UnaryOp::kNot, parse_not());
}

ExprPtr Parser::parse_compare() {
  uint32_t offset = current().offset;
  ExprPtr first = parse_sum();
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
  for (;;) {
    CompareOp op;
    if (compare_operator(current().kind, op)) {
      offset = rest.empty() ? current().offset : offset;
      take();
    } else if (current().is_name("in")) {
      take();
      op = CompareOp::kIn;
    } else if (current().is_name("not") && look_ahead().is_name("in")) {
      take();
      take();
      op = CompareOp::kNotIn;
    } else {
      break;
    }
    rest.emplace_back(op, parse_sum());
  }
  if (rest.empty()) return first;
  auto compare = std::make_unique<CompareExpr>(offset);
  compare->first = std::move(first);
  compare->rest = std::move(rest);
  return compare;
}

ExprPtr Parser::parse_sum() {
  ExprPtr left = parse_concat();
  while (current().is(TokenKind::kAdd) || current().is(TokenKind::kSub)) {
    add_link();
    const Token& token = take();
    BinaryOp op = token.is(TokenKind::kAdd) ? BinaryOp::kAdd : BinaryOp::kSub;
    uint32_t offset = token.offset;
    left = std::make_unique<BinaryExpr>(offset, op, std::move(left), parse_concat());
  }
  return left;
}

ExprPtr Parser::parse_concat() {
  uint32_t offset = current().offset;
  ExprPtr first = parse_product();
  if (!current().is(TokenKind::kTilde)) return first;
  auto concat = std::make_unique<ConcatExpr>(offset);
  concat->items.push_back(std::move(first));
  while (take_if(TokenKind::kTilde)) concat->items.push_back(parse_product());
  return concat;
}

ExprPtr Parser::parse_product() {
  ExprPtr left = parse_power();
  BinaryOp op;
  while (product_operator(current().kind, op)) {
    add_link();
    uint32_t offset = take().offset;
    left = std::make_unique<BinaryExpr>(offset, op, std::move(left), parse_power());
  }
  return left;
}

// `**` binds to the left here, and looser than a sign, unlike in Python: Jinja's grammar.
ExprPtr Parser::parse_power() {
  ExprPtr left = parse_unary();
  while (current().is(TokenKind::kPow)) {
    add_link();
    uint32_t offset = take().offset;
    left = std::make_unique<BinaryExpr>(offset, BinaryOp::kPow, std::move(left), parse_unary());
  }
  return left;
}

ExprPtr Parser::parse_unary(bool with_filter) {
  ExprPtr expr;
  if (current().is(TokenKind::kSub) || current().is(TokenKind::kAdd)) {
    Depth depth(*this);
    const Token& token = take();
    UnaryOp op = token.is(TokenKind::kSub) ? UnaryOp::kNegate : UnaryOp::kPlus;
    uint32_t offset = token.offset;
    expr = std::make_unique<UnaryExpr>(offset, op, parse_unary(false));
  } else {
    expr = parse_primary();
  }
  expr = parse_postfix(std::move(expr));
  return with_filter ? parse_filters_and_tests(std::move(expr)) : std::move(expr);
}

ExprPtr Parser::parse_primary(bool namespace_allowed) {
  const Token& token = current();
  switch (token.kind) {
    case TokenKind::kName: {
      take();
      if (token.text == "true" || token.text == "True") {
        return std::make_unique<ConstExpr>(token.offset, Value::boolean(true));
      }
      if (token.text == "false" || token.text == "False") {
        return std::make_unique<ConstExpr>(token.offset, Value::boolean(false));
      }
      if (token.text == "none" || token.text == "None") {
        return std::make_unique<ConstExpr>(token.offset, Value::none());
      }
      if (namespace_allowed && take_if(TokenKind::kDot)) {
        const Token& attribute = expect(TokenKind::kName);
        return std::make_unique<NamespaceRefExpr>(token.offset, intern(token.text),
                                                  intern(attribute.text));
      }
      return std::make_unique<NameExpr>(token.offset, intern(token.text));
    }
    case TokenKind::kString: {
      std::string text;
      while (current().is(TokenKind::kString)) text += take().text;
      return std::make_unique<ConstExpr>(token.offset, Value(intern(text)));
    }
    case TokenKind::kInteger:
      take();
      return std::make_unique<ConstExpr>(token.offset, Value::integer(token.integer));
    case TokenKind::kFloat:
      take();
      return std::make_unique<ConstExpr>(token.offset, Value::floating(token.number));
    case TokenKind::kLeftParen: {
      take();
      ExprPtr inner = parse_tuple({.parenthesised = true});
      expect(TokenKind::kRightParen);
      return inner;
    }
    case TokenKind::kLeftBracket:
      return parse_list();
    case TokenKind::kLeftBrace:
      return parse_dict();
    default:
      error(fmt::format("unexpected {}", describe(token)));
  }
}

ExprPtr Parser::parse_tuple(const TupleRules& rules) {
  uint32_t offset = current().offset;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  for (;;) {
    if (!items.empty()) expect(TokenKind::kComma);
    TokenKind kind = current().kind;
    if (kind == TokenKind::kVariableEnd || kind == TokenKind::kBlockEnd ||
        kind == TokenKind::kRightParen ||
        (!rules.end_name.empty() && current().is_name(rules.end_name))) {
      break;
    }
    items.push_back(rules.targets ? parse_primary(rules.namespace_allowed)
                                  : parse_expression(rules.with_condition));
    if (!current().is(TokenKind::kComma)) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!items.empty()) return std::move(items.front());
    if (!rules.parenthesised) {
      error(fmt::format("expected an expression, got {}", describe(current())));
    }
  }
  auto tuple = std::make_unique<SequenceExpr>(ExprKind::kTuple, offset);
  tuple->items = std::move(items);
  return tuple;
}

ExprPtr Parser::parse_list() {
  auto list =
      std::make_unique<SequenceExpr>(ExprKind::kList, expect(TokenKind::kLeftBracket).offset);
  while (!current().is(TokenKind::kRightBracket)) {
    if (!list->items.empty()) expect(TokenKind::kComma);
    if (current().is(TokenKind::kRightBracket)) break;
    list->items.push_back(parse_expression());
  }
  expect(TokenKind::kRightBracket);
  return list;
}

ExprPtr Parser::parse_dict() {
  auto dict = std::make_unique<DictExpr>(expect(TokenKind::kLeftBrace).offset);
  while (!current().is(TokenKind::kRightBrace)) {
    if (!dict->items.empty()) expect(TokenKind::kComma);
    if (current().is(TokenKind::kRightBrace)) break;
    ExprPtr key = parse_expression();
    expect(TokenKind::kColon);
    dict->items.emplace_back(std::move(key), parse_expression());
  }
  expect(TokenKind::kRightBrace);
  return dict;
}

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
