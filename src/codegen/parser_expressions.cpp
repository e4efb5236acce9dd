// Expressions: operators, one function per level of precedence, as in Jinja2's parser, and the
// operands that stand alone. What follows an operand is in parser_postfix.cpp.
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

}  // namespace ffpa_jit::codegen
