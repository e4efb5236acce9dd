// + - * / // % ** and signs, with Python's results: floor division, exact integers (64 bits here,
// with an error beyond), text and sequence operators.
#include <cmath>

#include "codegen/failure.h"
#include "codegen/format.h"
#include "codegen/markup.h"
#include "codegen/operators.h"

namespace ffpa_jit::codegen {
namespace {

[[noreturn]] void overflow() { fail("this integer result does not fit in 64 bits"); }
[[noreturn]] void division_by_zero() { fail("division by zero"); }

std::string_view symbol(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return "+";
    case BinaryOp::kSub:
      return "-";
    case BinaryOp::kMul:
      return "*";
    case BinaryOp::kDiv:
      return "/";
    case BinaryOp::kFloorDiv:
      return "//";
    case BinaryOp::kMod:
      return "%";
    case BinaryOp::kPow:
      return "**";
  }
  return "?";
}

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) division_by_zero();
  if (b == -1) {
    if (a == INT64_MIN) overflow();
    return -a;
  }
  int64_t quotient = a / b;
  return (a % b != 0 && (a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

int64_t floor_modulo(int64_t a, int64_t b) {
  if (b == 0) division_by_zero();
  if (b == -1) return 0;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Value power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) division_by_zero();
    return Value::floating(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  for (;;) {
    if (exponent & 1) {
      if (__builtin_mul_overflow(result, base, &result)) overflow();
    }
    exponent >>= 1;
    if (exponent == 0) return Value::integer(result);
    if (__builtin_mul_overflow(base, base, &base)) overflow();
  }
}

double float_modulo(double a, double b) {
  if (b == 0) division_by_zero();
  double rest = std::fmod(a, b);
  if (rest != 0) return (rest < 0) != (b < 0) ? rest + b : rest;
  return std::copysign(0.0, b);
}

double float_floor_divide(double a, double b) {
  if (b == 0) division_by_zero();
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}

double float_power(double base, double exponent) {
  if (base == 0 && exponent < 0) division_by_zero();
  if (base < 0 && std::isfinite(base) && std::isfinite(exponent) &&
      exponent != std::floor(exponent)) {
    fail("a negative number to a fractional power is complex, which templates cannot use");
  }
  double result = std::pow(base, exponent);
  if (std::isinf(result) && std::isfinite(base) && std::isfinite(exponent)) {
    fail("this power is too large for a float");
  }
  return result;
}

// Correctly rounded, also where the operands need more bits than a double has.
double true_divide(int64_t a, int64_t b) {
  if (b == 0) division_by_zero();
  constexpr int64_t kExact = int64_t{1} << 53;
  if (a >= -kExact && a <= kExact && b >= -kExact && b <= kExact) {
    return static_cast<double>(a) / static_cast<double>(b);
  }
  return static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b));
}

Value integer_binary(BinaryOp op, int64_t a, int64_t b) {
  int64_t result;
  switch (op) {
    case BinaryOp::kAdd:
      if (__builtin_add_overflow(a, b, &result)) overflow();
      return Value::integer(result);
    case BinaryOp::kSub:
      if (__builtin_sub_overflow(a, b, &result)) overflow();
      return Value::integer(result);
    case BinaryOp::kMul:
      if (__builtin_mul_overflow(a, b, &result)) overflow();
      return Value::integer(result);
    case BinaryOp::kDiv:
      return Value::floating(true_divide(a, b));
    case BinaryOp::kFloorDiv:
      return Value::integer(floor_divide(a, b));
    case BinaryOp::kMod:
      return Value::integer(floor_modulo(a, b));
    case BinaryOp::kPow:
      return power(a, b);
  }
  return {};
}

double float_binary(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd:
      return a + b;
    case BinaryOp::kSub:
      return a - b;
    case BinaryOp::kMul:
      return a * b;
    case BinaryOp::kDiv:
      if (b == 0) division_by_zero();
      return a / b;
    case BinaryOp::kFloorDiv:
      return float_floor_divide(a, b);
    case BinaryOp::kMod:
      return float_modulo(a, b);
    case BinaryOp::kPow:
      return float_power(a, b);
  }
  return 0;
}

bool is_sequence(const Value& v) { return v.is(Type::kList) || v.is(Type::kTuple); }

Value concatenate(Heap& heap, const Value& a, const Value& b) {
  const auto& left = a.as<List>().items;
  const auto& right = b.as<List>().items;
  heap.charge_steps(left.size() + right.size());
  std::vector<Value> items(left);
  items.insert(items.end(), right.begin(), right.end());
  return a.is(Type::kList) ? heap.list(std::move(items)) : heap.tuple(std::move(items));
}

Value repeat(Heap& heap, const Value& sequence, int64_t count) {
  if (count < 0) count = 0;
  auto times = static_cast<size_t>(count);
  if (sequence.is_string()) {
    const std::string& text = sequence.text();
    if (!text.empty() && times > heap.limits().memory_bytes / text.size()) {
      heap.charge_bytes(SIZE_MAX);
    }
    heap.charge_bytes(text.size() * times);
    std::string out;
    out.reserve(text.size() * times);
    for (size_t i = 0; i < times && !text.empty(); ++i) out += text;
    return heap.string(std::move(out), sequence.as_string().markup);
  }
  const auto& source = sequence.as<List>().items;
  if (!source.empty() && times > heap.limits().steps / source.size()) heap.charge_steps(SIZE_MAX);
  heap.charge_steps(source.size() * times);
  std::vector<Value> items;
  items.reserve(source.size() * times);
  for (size_t i = 0; i < times && !source.empty(); ++i) {
    items.insert(items.end(), source.begin(), source.end());
  }
  return sequence.is(Type::kList) ? heap.list(std::move(items)) : heap.tuple(std::move(items));
}

}  // namespace

double to_double(const Value& number) {
  return number.is(Type::kFloat) ? number.as_float() : static_cast<double>(number.as_int());
}

int64_t to_integer(const Value& value, std::string_view what) {
  if (value.undefined()) fail_undefined(value);
  if (!value.is_integral()) fail("{} must be an integer, not {}", what, type_name(value));
  return value.as_int();
}

void fail_undefined(const Value& value) { throw Failure(value.as<Undefined>().message); }

Value binary(Heap& heap, BinaryOp op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return integer_binary(op, a.as_int(), b.as_int());
    return Value::floating(float_binary(op, to_double(a), to_double(b)));
  }
  if (op == BinaryOp::kMod && a.is_string()) return format_percent(heap, a.as_string(), b);
  if (a.undefined()) fail_undefined(a);
  if (b.undefined()) fail_undefined(b);
  if (op == BinaryOp::kAdd) {
    if (a.is_string() && b.is_string()) return concatenate_text(heap, a.as_string(), b.as_string());
    if (is_sequence(a) && a.type() == b.type()) return concatenate(heap, a, b);
  }
  if (op == BinaryOp::kMul) {
    if ((a.is_string() || is_sequence(a)) && b.is_integral()) return repeat(heap, a, b.as_int());
    if ((b.is_string() || is_sequence(b)) && a.is_integral()) return repeat(heap, b, a.as_int());
  }
  fail("unsupported operands for {}: {} and {}", symbol(op), type_name(a), type_name(b));
}

Value unary(Heap&, UnaryOp op, const Value& operand) {
  if (op == UnaryOp::kNot) return Value::boolean(!truth(operand));
  if (operand.undefined()) fail_undefined(operand);
  if (operand.is(Type::kFloat)) {
    return op == UnaryOp::kNegate ? Value::floating(-operand.as_float()) : operand;
  }
  if (operand.is_integral()) {
    int64_t value = operand.as_int();
    if (op == UnaryOp::kPlus) return Value::integer(value);
    if (value == INT64_MIN) overflow();
    return Value::integer(-value);
  }
  fail("bad operand for a sign: {}", type_name(operand));
}

}  // namespace ffpa_jit::codegen
