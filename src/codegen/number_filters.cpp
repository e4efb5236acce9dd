// Filters on numbers, and conversions to numbers.
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "codegen/failure.h"
#include "codegen/filters.h"
#include "codegen/interpreter.h"
#include "codegen/number_format.h"
#include "codegen/operators.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {
namespace {

using Args = BoundArguments;

Value abs(Interpreter&, const Value& input, const Args&) {
  if (input.undefined()) fail_undefined(input);
  if (input.is(Type::kFloat)) return Value::floating(std::fabs(input.as_float()));
  if (!input.is_integral()) fail("abs needs a number, not {}", type_name(input));
  if (input.as_int() == INT64_MIN) fail("this integer result does not fit in 64 bits");
  return Value::integer(std::abs(input.as_int()));
}

Value integer_of(double value) {
  if (std::isinf(value)) fail("infinity has no integer value");
  double truncated = std::trunc(value);
  if (!(truncated >= -9223372036854775808.0 && truncated < 9223372036854775808.0)) {
    fail("this number does not fit in 64 bits");
  }
  return Value::integer(static_cast<int64_t>(truncated));
}

// Text without the underscores that may stand between digits; nullopt where they stand elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    auto alnum = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    if (i == 0 || i + 1 == text.size() || !alnum(text[i - 1]) || !alnum(text[i + 1]))
      return std::nullopt;
  }
  return out;
}

// int(text, base): nullopt where Python raises ValueError.
std::optional<Value> parse_integer(std::string_view raw, int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) return std::nullopt;
  std::string_view text = strip_space(raw, true, true);
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  bool leading_zero_allowed = base != 0;
  if (text.size() > 1 && text[0] == '0') {
    char letter = static_cast<char>(text[1] | 0x20);
    int64_t prefix = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (prefix && (base == 0 || base == prefix)) {
      base = prefix;
      text.remove_prefix(2);
      if (!text.empty() && text[0] == '_') text.remove_prefix(1);
      leading_zero_allowed = true;
    }
  }
  std::optional<std::string> digits = without_underscores(text);
  if (!digits || digits->empty() || (*digits)[0] == '-' || (*digits)[0] == '+') return std::nullopt;
  if (base == 0) base = 10;
  if (!leading_zero_allowed && (*digits)[0] == '0' &&
      digits->find_first_not_of('0') != std::string::npos) {
    return std::nullopt;
  }
  uint64_t magnitude = 0;
  auto [end, error] = std::from_chars(digits->data(), digits->data() + digits->size(), magnitude,
                                      static_cast<int>(base));
  if (end != digits->data() + digits->size() || error == std::errc::invalid_argument)
    return std::nullopt;
  uint64_t most = static_cast<uint64_t>(INT64_MAX) + (negative ? 1 : 0);
  if (error == std::errc::result_out_of_range || magnitude > most)
    fail("this integer does not fit in 64 bits");
  return Value::integer(static_cast<int64_t>(negative ? ~magnitude + 1 : magnitude));
}

// float(text): nullopt where Python raises ValueError.
std::optional<double> parse_float(std::string_view raw) {
  std::optional<std::string> plain = without_underscores(strip_space(raw, true, true));
  if (!plain) return std::nullopt;
  std::string_view text = *plain;
  double sign = 1;
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) {
    sign = text[0] == '-' ? -1 : 1;
    text.remove_prefix(1);
  }
  std::string word = to_lower(text);
  if (word == "inf" || word == "infinity") return sign * HUGE_VAL;
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word.empty() || word.find_first_not_of("0123456789.e+-") != std::string::npos)
    return std::nullopt;
  if (word[0] == '+' || word[0] == '-') return std::nullopt;
  double value = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (end != word.data() + word.size()) return std::nullopt;
  if (error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    size_t e = word.find('e');
    value = e != std::string::npos && word[e + 1] == '-' ? 0.0 : HUGE_VAL;
  }
  return sign * value;
}

std::optional<double> float_of(const Value& input) {
  if (input.undefined()) fail_undefined(input);
  if (input.is_number()) return to_double(input);
  return input.is_string() ? parse_float(input.text()) : std::nullopt;
}

Value to_int(Interpreter&, const Value& input, const Args& args) {
  Value fallback = args[0].missing() ? Value::integer(0) : args[0];
  int64_t base = args[1].missing() ? 10 : to_integer(args[1], "the base of int");
  if (input.is_string()) {
    if (std::optional<Value> value = parse_integer(input.text(), base)) return *value;
  } else if (input.is_integral()) {
    return Value::integer(input.as_int());
  } else if (input.is(Type::kFloat) && !std::isnan(input.as_float())) {
    return integer_of(input.as_float());
  }
  std::optional<double> value = float_of(input);
  if (!value || !std::isfinite(*value)) return fallback;
  return integer_of(*value);
}

Value to_float(Interpreter&, const Value& input, const Args& args) {
  if (std::optional<double> value = float_of(input)) return Value::floating(*value);
  return args[0].missing() ? Value::floating(0) : args[0];
}

Value round_integer(int64_t value, int64_t digits) {
  if (digits >= 0) return Value::integer(value);
  if (digits < -18) return Value::integer(0);
  int64_t unit = 1;
  for (int64_t i = 0; i < -digits; ++i) unit *= 10;
  int64_t quotient = value / unit, rest = value % unit;
  int64_t distance = std::abs(rest);
  if (distance > unit - distance || (distance == unit - distance && (quotient & 1)))
    quotient += value < 0 ? -1 : 1;
  int64_t result;
  if (__builtin_mul_overflow(quotient, unit, &result))
    fail("this integer result does not fit in 64 bits");
  return Value::integer(result);
}

Value round(Interpreter& in, const Value& input, const Args& args) {
  if (input.undefined()) fail_undefined(input);
  std::string_view method = "common";
  if (!args[1].missing()) {
    if (!args[1].is_string()) fail("the method of round must be common, ceil or floor");
    method = args[1].text();
  }
  if (method != "common" && method != "ceil" && method != "floor") {
    fail("the method of round must be common, ceil or floor");
  }
  if (!input.is_number()) fail("round needs a number, not {}", type_name(input));
  Value precision = args[0].missing() ? Value::integer(0) : args[0];
  if (method == "common") {
    if (precision.is(Type::kNone)) {
      if (input.is_integral()) return Value::integer(input.as_int());
      if (std::isnan(input.as_float())) fail("NaN has no integer value");
      return integer_of(std::nearbyint(input.as_float()));
    }
    int64_t digits = to_integer(precision, "the precision of round");
    if (input.is_integral()) return round_integer(input.as_int(), digits);
    return Value::floating(round_decimal(input.as_float(), digits));
  }
  Value scale = binary(in.heap(), BinaryOp::kPow, Value::integer(10), precision);
  Value scaled = binary(in.heap(), BinaryOp::kMul, input, scale);
  if (scaled.is(Type::kFloat)) {
    double d = scaled.as_float();
    if (std::isnan(d)) fail("NaN has no integer value");
    scaled = integer_of(method == "ceil" ? std::ceil(d) : std::floor(d));
  }
  return binary(in.heap(), BinaryOp::kDiv, scaled, scale);
}

const FilterEntry kFilters[] = {
    {"abs", {}, abs},
    {"int", {{"default", "base"}, 0}, to_int},
    {"float", {{"default"}, 0}, to_float},
    {"round", {{"precision", "method"}, 0}, round},
};

}  // namespace

const std::span<const FilterEntry> kNumberFilters(kFilters);

}  // namespace ffpa_jit::codegen
