#include "problem/modifier/parse.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "problem/canonical_text.h"
#include "problem/modifier/syntax.h"

namespace ffpa_jit::modifier {
namespace {

// Canonical texts may be longer and deeper than what they were written as: conversions are spelled
// out.
struct Limits {
  size_t characters;
  int nesting;
};
constexpr Limits kWritten{2048, 64};
constexpr Limits kCanonical{16384, 300};
constexpr size_t kMaxNodes = 4096;

std::string_view name_of(Type type) {
  return type == Type::kInt ? "int" : type == Type::kFloat ? "float" : "bool";
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Parser {
 public:
  Parser(std::string_view text, const ModifierTensors& tensors, const Limits& limits)
      : text_(text), tensors_(tensors), limits_(limits) {}

  Expression run() {
    if (text_.size() > limits_.characters) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "score_modifier has {} characters; allowed: up to {}",
                  text_.size(), limits_.characters);
    }
    const Value result = expression(0);
    skip_spaces();
    if (at_ < text_.size()) fail(at_, "an operator or the end");
    if (type(result) == Type::kBool) {
      fail(result.column, "a number as the result: write (condition) ? score : -inf", "bool");
    }
    to_float(result);
    return std::move(out_);
  }

 private:
  struct Value {
    int node;
    size_t column;  // of its first character, from 0
  };

  Type type(const Value& value) const { return out_.nodes[value.node].type; }

  // ---- text

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
      ++at_;
  }

  bool take(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  void require(std::string_view token, std::string_view allowed) {
    if (!take(token)) fail(at_, allowed);
  }

  // The word or character at `column`, as a message shows it.
  std::string found_at(size_t column) const {
    if (column >= text_.size()) return "the end";
    size_t end = column;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    return in_quotes(text_.substr(column, std::max<size_t>(end - column, 1)));
  }

  [[noreturn]] void fail(size_t column, std::string_view allowed,
                         std::string_view found = {}) const {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "score_modifier {}, column {}: found {}; allowed: {}",
                in_quotes(text_), column + 1, found.empty() ? found_at(column) : std::string(found),
                allowed);
  }

  // ---- nodes

  Value add(size_t column, Node node) {
    if (out_.nodes.size() >= kMaxNodes) {
      fail(column, fmt::format("up to {} operations", kMaxNodes), "one more");
    }
    out_.nodes.push_back(node);
    return {static_cast<int>(out_.nodes.size()) - 1, column};
  }

  Value add(size_t column, Op op, Type type, std::initializer_list<Value> operands) {
    Node node{op, type, 0, 0, 0, {}};
    for (const Value& operand : operands) node.operands[node.operand_count++] = operand.node;
    return add(column, node);
  }

  // Literals are converted in place.
  Value to_float(const Value& value) {
    Node& node = out_.nodes[value.node];
    if (node.type == Type::kFloat) return value;
    if (node.op == Op::kInteger) {
      node.op = Op::kNumber;
      node.type = Type::kFloat;
      node.number = static_cast<float>(node.integer);
      node.integer = 0;
      return value;
    }
    return add(value.column, Op::kToFloat, Type::kFloat, {value});
  }

  void require_number(const Value& value) const {
    if (type(value) == Type::kBool) fail(value.column, "a number", "bool");
  }
  void require_type(const Value& value, Type wanted) const {
    if (type(value) == wanted) return;
    fail(value.column,
         wanted == Type::kInt ? "int: write int(x) to convert" : fmt::format("{}", name_of(wanted)),
         name_of(type(value)));
  }

  // Both Int, or both Float.
  Type make_alike(Value& a, Value& b) {
    require_number(a);
    require_number(b);
    if (type(a) == Type::kInt && type(b) == Type::kInt) return Type::kInt;
    a = to_float(a);
    b = to_float(b);
    return Type::kFloat;
  }

  Value binary(Op op, Value a, Value b) {
    switch (op) {
      case Op::kAnd:
      case Op::kOr:
        require_type(a, Type::kBool);
        require_type(b, Type::kBool);
        return add(a.column, op, Type::kBool, {a, b});
      case Op::kFloorDivide:
      case Op::kModulo:
        require_type(a, Type::kInt);
        require_type(b, Type::kInt);
        return add(a.column, op, Type::kInt, {a, b});
      case Op::kDivide:
        require_number(a);
        require_number(b);
        a = to_float(a);
        b = to_float(b);
        return add(a.column, op, Type::kFloat, {a, b});
      case Op::kAdd:
      case Op::kSubtract:
      case Op::kMultiply: {
        const Type both = make_alike(a, b);
        return add(a.column, op, both, {a, b});
      }
      default:  // comparisons
        make_alike(a, b);
        return add(a.column, op, Type::kBool, {a, b});
    }
  }

  Value select(size_t column, const Value& condition, Value yes, Value no) {
    require_type(condition, Type::kBool);
    Type result = Type::kBool;
    if (type(yes) != Type::kBool || type(no) != Type::kBool) result = make_alike(yes, no);
    return add(column, Op::kSelect, result, {condition, yes, no});
  }

  // ---- grammar

  struct Level {
    explicit Level(Parser& parser) : parser(parser) {
      if (++parser.nesting_ > parser.limits_.nesting) {
        parser.fail(parser.at_, fmt::format("{} levels of nesting", parser.limits_.nesting),
                    "one more");
      }
    }
    ~Level() { --parser.nesting_; }
    Parser& parser;
  };

  // Operators that bind at least as tightly as `precedence`; 0: everything.
  Value expression(int precedence) {
    const Level level(*this);
    Value left = unary();
    while (const Operator* next = peek_operator(precedence)) {
      at_ += next->text.size();
      const Value right = expression(next->precedence + 1);
      left = binary(next->op, left, right);
    }
    if (precedence > kSelectPrecedence || !take("?")) return left;
    const Value yes = expression(0);
    require(":", "\":\" and what holds otherwise");
    const Value no = expression(0);
    return select(left.column, left, yes, no);
  }

  const Operator* peek_operator(int precedence) {
    skip_spaces();
    for (const Operator& known : kOperators) {
      if (text_.substr(at_).starts_with(known.text)) {
        return known.precedence >= precedence ? &known : nullptr;
      }
    }
    return nullptr;
  }

  Value unary() {
    skip_spaces();
    const size_t column = at_;
    if (take("-")) {
      const Level level(*this);
      const Value operand = unary();
      require_number(operand);
      Node& node = out_.nodes[operand.node];
      if (node.op == Op::kInteger || node.op == Op::kNumber) {
        node.integer = -node.integer;
        node.number = -node.number;
        return {operand.node, column};
      }
      return add(column, Op::kNegate, type(operand), {operand});
    }
    if (!text_.substr(at_).starts_with("!=") && take("!")) {
      const Level level(*this);
      const Value operand = unary();
      require_type(operand, Type::kBool);
      return add(column, Op::kNot, Type::kBool, {operand});
    }
    return primary();
  }

  Value primary() {
    skip_spaces();
    const size_t column = at_;
    if (take("(")) {
      const Value inner = expression(0);
      require(")", "an operator or \")\"");
      return {inner.node, column};
    }
    if (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) return literal();
    if (at_ < text_.size() && is_letter(text_[at_])) return word();
    fail(column, "a number, a name, a function or \"(\"");
  }

  Value literal() {
    const size_t column = at_;
    size_t end = at_;
    bool whole = true;
    while (end < text_.size()) {
      const char c = text_[end];
      const bool exponent_sign =
          (c == '+' || c == '-') && (text_[end - 1] == 'e' || text_[end - 1] == 'E');
      if (!is_digit(c) && !is_letter(c) && c != '.' && !(exponent_sign && end > at_)) break;
      whole = whole && is_digit(c);
      ++end;
    }
    const std::string_view digits = text_.substr(at_, end - at_);
    const char* last = digits.data() + digits.size();
    Node node;
    if (whole) {
      const auto [stop, error] = std::from_chars(digits.data(), last, node.integer);
      if (error != std::errc() || stop != last) {
        fail(column, "whole numbers to 2147483647, or a decimal point", in_quotes(digits));
      }
    } else {
      const auto [stop, error] = std::from_chars(digits.data(), last, node.number);
      if (error != std::errc() || stop != last || !std::isfinite(node.number)) {
        fail(column, "numbers like 2, 0.5 or 1e-3 within the range of fp32", in_quotes(digits));
      }
      node.op = Op::kNumber;
      node.type = Type::kFloat;
    }
    at_ = end;
    return add(column, node);
  }

  Value word() {
    const size_t column = at_;
    size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = end;
    if (name == "inf") {
      return add(column,
                 Node{Op::kNumber, Type::kFloat, 0, std::numeric_limits<float>::infinity(), 0, {}});
    }
    if (name.size() == 2 && name[0] == 't' && name[1] >= '0' &&
        name[1] < '0' + kMaxModifierTensors) {
      return tensor(column, name[1] - '0');
    }
    for (const Variable& variable : kVariables) {
      if (variable.name == name) return add(column, variable.op, variable.type, {});
    }
    if (name == "where") {
      require("(", "\"(\" after a function");
      const Value condition = expression(0);
      require(",", "\",\": where(condition, then, else)");
      const Value yes = expression(0);
      require(",", "\",\": where(condition, then, else)");
      const Value no = expression(0);
      require(")", "an operator or \")\"");
      return select(column, condition, yes, no);
    }
    for (const Function& function : kFunctions) {
      if (function.name == name) return call(column, function);
    }
    fail(
        column,
        "score, b, h, q, k, nq, nk, nh, t0 to t3, inf, abs, min, max, floor, exp, exp2, log, log2, "
        "sqrt, tanh, int, float, where",
        in_quotes(name));
  }

  Value call(size_t column, const Function& function) {
    require("(", "\"(\" after a function");
    Value a = expression(0);
    require_number(a);
    if (function.operands == 2) {
      require(",", fmt::format("\",\": {} takes two numbers", function.name));
      Value b = expression(0);
      require(")", "an operator or \")\"");
      const Type both = make_alike(a, b);
      return add(column, function.op, both, {a, b});
    }
    require(")", "an operator or \")\"");
    switch (function.signature) {
      case Signature::kToFloat:
        return to_float(a);
      case Signature::kToInt:
        if (type(a) == Type::kInt) return a;
        return add(column, function.op, Type::kInt, {a});
      case Signature::kFloatToFloat:
        a = to_float(a);
        return add(column, function.op, Type::kFloat, {a});
      case Signature::kNumeric:
        break;
    }
    return add(column, function.op, type(a), {a});
  }

  Value tensor(size_t column, int number) {
    const ModifierTensor& tensor = tensors_[number];
    if (tensor.rank == 0) {
      fail(column, fmt::format("a tensor that is given (modifier_tensors[{}] is not)", number));
    }
    const std::string count =
        fmt::format("{} {} (t{} has rank {})", tensor.rank, tensor.rank == 1 ? "index" : "indices",
                    number, tensor.rank);
    require("[", fmt::format("\"[\" and {}", count));
    Node node{Op::kTensor, tensor.dtype == DType::kInt32 ? Type::kInt : Type::kFloat, number, 0, 0,
              {}};
    for (int i = 0; i < tensor.rank; ++i) {
      if (i > 0) require(",", count);
      const Value index = expression(0);
      require_type(index, Type::kInt);
      node.operands[node.operand_count++] = index.node;
    }
    require("]", fmt::format("\"]\" after {}", count));
    return add(column, node);
  }

  std::string_view text_;
  const ModifierTensors& tensors_;
  const Limits limits_;
  size_t at_ = 0;
  int nesting_ = 0;
  Expression out_;
};

}  // namespace

Expression parse(std::string_view text, const ModifierTensors& tensors) {
  return Parser(text, tensors, kCanonical).run();
}

const Written& read_written(std::string_view text, const ModifierTensors& tensors) {
  struct Last {
    std::string text;
    ModifierTensors tensors;
    Written written;
  };
  thread_local std::optional<Last> last;
  if (!last || last->text != text || last->tensors != tensors) {
    Expression expression = Parser(text, tensors, kWritten).run();
    std::string canonical = text_of(expression);
    last = Last{std::string(text), tensors, {std::move(canonical), std::move(expression)}};
  }
  return last->written;
}

std::string canonical(std::string_view text, const ModifierTensors& tensors) {
  return read_written(text, tensors).canonical;
}

}  // namespace ffpa_jit::modifier
