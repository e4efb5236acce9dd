#include "codegen/number_format.h"

#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "codegen/failure.h"

namespace ffpa_jit::codegen {

std::string integer_digits(uint64_t magnitude, int base, bool upper) {
  std::array<char, 65> buffer;
  char* end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, base).ptr;
  std::string out(buffer.data(), end);
  if (upper) {
    for (char& c : out) {
      if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 'a' + 'A');
    }
  }
  return out;
}

namespace {

double parse(const std::string& decimal) {
  double value = 0;
  auto result = std::from_chars(decimal.data(), decimal.data() + decimal.size(), value);
  if (result.ec == std::errc::result_out_of_range) fail("this number is too large for a float");
  return value;
}

std::string upper_case(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::string chars_of(double value, std::chars_format format, int precision) {
  std::vector<char> buffer(static_cast<size_t>(precision) + 400);
  char* end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, precision).ptr;
  return std::string(buffer.data(), end);
}

// %#g: to_chars drops trailing zeros, so build it from the two other forms.
std::string general_alternate(double value, int precision) {
  if (precision == 0) precision = 1;
  std::string scientific = chars_of(value, std::chars_format::scientific, precision - 1);
  int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  std::string out = exponent < -4 || exponent >= precision
                        ? scientific
                        : chars_of(value, std::chars_format::fixed, precision - 1 - exponent);
  if (out.find('.') == std::string::npos) {
    size_t e = out.find('e');
    out.insert(e == std::string::npos ? out.size() : e, 1, '.');
  }
  return out;
}

}  // namespace

std::string float_digits(double magnitude, char type, int precision, bool alternate) {
  bool upper = type >= 'A' && type <= 'Z';
  char lower = upper ? static_cast<char>(type - 'A' + 'a') : type;
  std::string out;
  if (std::isnan(magnitude)) {
    out = "nan";
  } else if (std::isinf(magnitude)) {
    out = "inf";
  } else if (lower == 'g' && alternate) {
    out = general_alternate(magnitude, precision);
  } else if (lower == 'g') {
    out = chars_of(magnitude, std::chars_format::general, precision);
  } else {
    out =
        chars_of(magnitude, lower == 'e' ? std::chars_format::scientific : std::chars_format::fixed,
                 precision);
    if (alternate && precision == 0) {
      size_t e = out.find('e');
      out.insert(e == std::string::npos ? out.size() : e, 1, '.');
    }
  }
  return upper ? upper_case(out) : out;
}

double round_decimal(double value, int64_t digits) {
  if (!std::isfinite(value)) return value;
  if (digits > 323) return value;
  if (digits < -308) return std::copysign(0.0, value);
  if (digits >= 0) {
    // Correctly rounded decimal text, read back.
    return std::copysign(
        parse(float_digits(std::fabs(value), 'f', static_cast<int>(digits), false)), value);
  }
  // Digits before the point: the text "123" with its last digits rounded away, by exact decimal
  // arithmetic.
  std::string whole = float_digits(std::fabs(value), 'f', 1075, false);
  std::string integer = whole.substr(0, whole.find('.'));
  auto drop = static_cast<size_t>(-digits);
  if (integer.size() < drop) return std::copysign(0.0, value);
  std::string kept = integer.substr(0, integer.size() - drop);
  std::string dropped = integer.substr(integer.size() - drop);
  std::string fraction = whole.substr(whole.find('.') + 1);
  bool exact_half = dropped[0] == '5' && dropped.find_first_not_of('0', 1) == std::string::npos &&
                    fraction.find_first_not_of('0') == std::string::npos;
  bool odd = !kept.empty() && ((kept.back() - '0') & 1);
  bool up = dropped[0] > '5' || (dropped[0] == '5' && (!exact_half || odd));
  if (kept.empty()) kept.push_back('0');
  if (up) {
    size_t i = kept.size();
    while (i > 0 && kept[i - 1] == '9') kept[--i] = '0';
    if (i > 0) {
      ++kept[i - 1];
    } else {
      kept.insert(0, 1, '1');
    }
  }
  return std::copysign(parse(kept + std::string(drop, '0')), value);
}

}  // namespace ffpa_jit::codegen
