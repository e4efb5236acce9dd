// str.format: fields by position or name, and format specifications of text and numbers.
#include <cmath>

#include "codegen/attributes.h"
#include "codegen/failure.h"
#include "codegen/format.h"
#include "codegen/number_format.h"
#include "codegen/operators.h"
#include "codegen/text_form.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {
namespace {

constexpr int64_t kWidest = 1'000'000;
constexpr int64_t kWidestGrouped = 1000;

struct Spec {
  std::string fill = " ";
  char align = 0;
  char sign = '-';
  bool alternate = false;
  char grouping = 0;  // ',' or '_'
  int64_t width = 0;
  int64_t precision = -1;
  char type = 0;
};

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

class SpecParser {
 public:
  explicit SpecParser(std::string_view text) : text_(text) {}

  Spec parse() {
    Spec spec;
    size_t after_fill = 0;
    if (!text_.empty()) next_code_point(text_, after_fill);
    if (after_fill < text_.size() && is_align(text_[after_fill])) {
      spec.fill = text_.substr(0, after_fill);
      spec.align = text_[after_fill];
      pos_ = after_fill + 1;
    } else if (!text_.empty() && is_align(text_[0])) {
      spec.align = text_[0];
      pos_ = 1;
    }
    if (at('+') || at('-') || at(' ')) spec.sign = text_[pos_++];
    if (at('#')) {
      spec.alternate = true;
      ++pos_;
    }
    if (at('0')) {
      ++pos_;
      if (!spec.align) {
        spec.fill.assign(1, '0');
        spec.align = '=';
      }
    }
    spec.width = number(0);
    if (at(',') || at('_')) spec.grouping = text_[pos_++];
    if (at('.')) {
      ++pos_;
      spec.precision = number(-1);
      if (spec.precision < 0) fail("a format specification lacks its precision");
    }
    if (pos_ < text_.size()) spec.type = text_[pos_++];
    if (pos_ < text_.size()) fail("'{}' is not a format specification", text_);
    return spec;
  }

 private:
  bool at(char c) const { return pos_ < text_.size() && text_[pos_] == c; }
  int64_t number(int64_t absent) {
    if (pos_ >= text_.size() || text_[pos_] < '0' || text_[pos_] > '9') return absent;
    int64_t value = 0;
    while (pos_ < text_.size() && text_[pos_] >= '0' && text_[pos_] <= '9') {
      value = value * 10 + (text_[pos_++] - '0');
      if (value > kWidest) fail("a width in this format is too large");
    }
    return value;
  }

  std::string_view text_;
  size_t pos_ = 0;
};

std::string group_digits(const std::string& digits, char separator, size_t every) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i && (digits.size() - i) % every == 0) out += separator;
    out += digits[i];
  }
  return out;
}

class BracesFormatter {
 public:
  BracesFormatter(Heap& heap, std::string_view format, const CallArguments& arguments)
      : heap_(heap), format_(format), arguments_(arguments) {}

  std::string run() {
    std::string out;
    while (pos_ < format_.size()) {
      char c = format_[pos_++];
      if (c == '{' && at('{')) {
        ++pos_;
        out += '{';
      } else if (c == '}' && at('}')) {
        ++pos_;
        out += '}';
      } else if (c == '}') {
        fail("a single '}}' in this format");
      } else if (c == '{') {
        out += field();
      } else {
        out += c;
      }
      heap_.charge_steps(1);
    }
    return out;
  }

 private:
  bool at(char c) const { return pos_ < format_.size() && format_[pos_] == c; }

  std::string field() {
    size_t end = format_.find_first_of("!:}{", pos_);
    if (end == std::string_view::npos) fail("a '{{' in this format is not closed");
    if (format_[end] == '{') fail("unexpected '{{' in a field name");
    Value value = lookup(format_.substr(pos_, end - pos_));
    pos_ = end;
    if (at('!')) {
      ++pos_;
      if (pos_ >= format_.size()) fail("a '{{' in this format is not closed");
      char conversion = format_[pos_++];
      if (conversion != 's' && conversion != 'r')
        fail("the conversion '!{}' is outside the supported subset", conversion);
      value = heap_.string(conversion == 's' ? str_of(heap_, value) : repr_of(heap_, value));
    }
    std::string spec;
    if (at(':')) {
      ++pos_;
      while (pos_ < format_.size() && format_[pos_] != '}') {
        if (format_[pos_] == '{') {
          ++pos_;
          size_t close = format_.find('}', pos_);
          if (close == std::string_view::npos) fail("a '{{' in this format is not closed");
          spec += str_of(heap_, lookup(format_.substr(pos_, close - pos_)));
          pos_ = close + 1;
        } else {
          spec += format_[pos_++];
        }
      }
    }
    if (!at('}')) fail("a '{{' in this format is not closed");
    ++pos_;
    return format_value(value, spec);
  }

  Value lookup(std::string_view name) {
    if (name.find_first_of(".[") != std::string_view::npos) {
      fail("attributes and subscripts in format fields ('{}') are outside the supported subset",
           name);
    }
    bool numeric = !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
    if (name.empty() || numeric) {
      if (name.empty() ? explicit_ : automatic_ > 0)
        fail("this format mixes numbered and automatic fields");
      size_t index = automatic_;
      if (name.empty()) {
        ++automatic_;
      } else {
        explicit_ = true;
        index = name.size() > 9 ? SIZE_MAX : std::stoul(std::string(name));
      }
      if (index >= arguments_.positional.size()) fail("not enough arguments for this format");
      return arguments_.positional[index];
    }
    for (const auto& [key, value] : arguments_.keyword) {
      if (key->text == name) return value;
    }
    fail("this format has no value named '{}'", name);
  }

  std::string format_value(const Value& value, const std::string& text) {
    if (value.undefined()) fail_undefined(value);
    if (text.empty()) return str_of(heap_, value);
    Spec spec = SpecParser(text).parse();
    heap_.charge_bytes(static_cast<size_t>(spec.width + std::max<int64_t>(0, spec.precision)));
    if (value.is_string()) return format_text(spec, value.text());
    bool floating =
        value.is(Type::kFloat) ||
        std::string_view("eEfFgG%").find(spec.type ? spec.type : '?') != std::string_view::npos;
    if (value.is_number() && floating) return format_float(spec, to_double(value));
    if (value.is_integral()) {
      if (value.is(Type::kBool) && spec.type == 0)
        return format_text_unchecked(spec, str_of(heap_, value), '>');
      return format_integer(spec, value.as_int());
    }
    fail("a format specification cannot be applied to {}", type_name(value));
  }

  std::string format_text(const Spec& spec, const std::string& text) {
    if (spec.type != 0 && spec.type != 's') fail("unknown format code '{}' for text", spec.type);
    if (spec.sign != '-' || spec.alternate || spec.grouping)
      fail("this format specification is for numbers only");
    if (spec.align == '=' && spec.fill != "0") fail("'=' alignment is for numbers only");
    std::string cut = text;
    if (spec.precision >= 0 && count_code_points(text) > static_cast<size_t>(spec.precision)) {
      size_t offset = 0;
      for (int64_t i = 0; i < spec.precision; ++i) next_code_point(text, offset);
      cut.resize(offset);
    }
    return format_text_unchecked(spec, cut, '<');
  }

  std::string format_text_unchecked(Spec spec, const std::string& text, char default_align) {
    if (spec.align == '=') spec.align = default_align;
    return align(spec, "", text, default_align);
  }

  std::string format_integer(const Spec& spec, int64_t number) {
    if (spec.precision >= 0) fail("a precision is not allowed for integers");
    uint64_t magnitude =
        number < 0 ? ~static_cast<uint64_t>(number) + 1 : static_cast<uint64_t>(number);
    int base = 10;
    std::string prefix = sign(spec, number < 0);
    switch (spec.type) {
      case 0:
      case 'd':
        break;
      case 'b':
        base = 2;
        break;
      case 'o':
        base = 8;
        break;
      case 'x':
      case 'X':
        base = 16;
        break;
      default:
        fail("unknown format code '{}' for an integer", spec.type);
    }
    if (spec.grouping == ',' && base != 10) fail("',' is for decimal numbers only");
    if (spec.alternate && base != 10) prefix += fmt::format("0{}", spec.type);
    std::string digits = integer_digits(magnitude, base, spec.type == 'X');
    return align_number(spec, prefix, digits, "", base == 10 ? 3 : 4);
  }

  std::string format_float(const Spec& spec, double number) {
    double magnitude = std::fabs(number);
    std::string digits;
    switch (spec.type) {
      case 0:
        if (spec.precision < 0) {
          digits = float_repr(magnitude);
        } else {
          digits = float_digits(magnitude, 'g', static_cast<int>(spec.precision), spec.alternate);
          if (std::isfinite(magnitude) && digits.find_first_of(".e") == std::string::npos) {
            fail("a float with a precision needs a type (f, e or g) in its format");
          }
        }
        break;
      case '%':
        digits = float_digits(magnitude * 100, 'f', precision_of(spec), spec.alternate) + "%";
        break;
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        digits = float_digits(magnitude, spec.type, precision_of(spec), spec.alternate);
        break;
      default:
        fail("unknown format code '{}' for a float", spec.type);
    }
    size_t whole = digits.find_first_not_of("0123456789");
    std::string rest = whole == std::string::npos ? "" : digits.substr(whole);
    return align_number(spec, sign(spec, std::signbit(number) && !std::isnan(number)),
                        digits.substr(0, whole), rest, 3);
  }

  static int precision_of(const Spec& spec) {
    return spec.precision < 0 ? 6 : static_cast<int>(spec.precision);
  }

  static std::string sign(const Spec& spec, bool negative) {
    return negative ? "-" : spec.sign == '+' ? "+" : spec.sign == ' ' ? " " : "";
  }

  std::string align_number(const Spec& spec, const std::string& prefix, std::string digits,
                           const std::string& rest, size_t every) {
    if (spec.grouping) {
      // Zero padding takes part in the grouping.
      if (spec.align == '=' && spec.fill == "0") {
        if (spec.width > kWidestGrouped)
          fail("a zero-padded width with separators is at most {}", kWidestGrouped);
        for (;;) {
          size_t length = prefix.size() + rest.size() +
                          group_digits(fmt::format("0{}", digits), spec.grouping, every).size();
          if (length > static_cast<size_t>(spec.width)) break;
          digits.insert(0, 1, '0');
        }
        std::string grouped = group_digits(digits, spec.grouping, every);
        // A separator may not lead: one more zero goes before it.
        if (prefix.size() + rest.size() + grouped.size() < static_cast<size_t>(spec.width)) {
          grouped = group_digits(fmt::format("0{}", digits), spec.grouping, every);
        }
        return prefix + grouped + rest;
      }
      digits = group_digits(digits, spec.grouping, every);
    }
    return align(spec, prefix, digits + rest, '>');
  }

  static std::string align(const Spec& spec, const std::string& prefix, const std::string& body,
                           char default_align) {
    size_t length = prefix.size() + count_code_points(body);
    size_t fill =
        static_cast<size_t>(spec.width) > length ? static_cast<size_t>(spec.width) - length : 0;
    auto repeat = [&](size_t count) {
      std::string out;
      for (size_t i = 0; i < count; ++i) out += spec.fill;
      return out;
    };
    switch (spec.align ? spec.align : default_align) {
      case '<':
        return prefix + body + repeat(fill);
      case '^':
        return repeat(fill / 2) + prefix + body + repeat(fill - fill / 2);
      case '=':
        return prefix + repeat(fill) + body;
      default:
        return repeat(fill) + prefix + body;
    }
  }

  Heap& heap_;
  std::string_view format_;
  const CallArguments& arguments_;
  size_t pos_ = 0;
  size_t automatic_ = 0;
  bool explicit_ = false;
};

}  // namespace

Value format_braces(Heap& heap, const String& format, const CallArguments& arguments) {
  if (format.markup) fail("formatting Markup is outside the supported subset; use |string first");
  return heap.string(BracesFormatter(heap, format.text, arguments).run());
}

}  // namespace ffpa_jit::codegen
