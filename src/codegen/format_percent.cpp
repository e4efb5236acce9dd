// "%s" formatting (printf style), as Python's str % values.
#include <cmath>

#include "codegen/failure.h"
#include "codegen/format.h"
#include "codegen/number_format.h"
#include "codegen/operators.h"
#include "codegen/text_form.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {
namespace {

constexpr int64_t kWidest = 1'000'000;

struct Spec {
  bool left = false, plus = false, space = false, alternate = false, zero = false;
  int64_t width = 0;
  int64_t precision = -1;
  char type = 0;
};

class PercentFormatter {
 public:
  PercentFormatter(Heap& heap, std::string_view format, const Value& values)
      : heap_(heap), format_(format), values_(values) {}

  std::string run() {
    while (pos_ < format_.size()) {
      char c = format_[pos_++];
      if (c != '%') {
        out_ += c;
        continue;
      }
      directive();
    }
    // Python lets a mapping (or any object with items) go unused.
    bool may_be_unused = values_.is(Type::kDict) || values_.is(Type::kList) ||
                         values_.is(Type::kRange) || mapping_used_;
    size_t given = values_.is(Type::kTuple) ? values_.as<List>().items.size() : 1;
    if (values_.is(Type::kTuple) ? used_ < given : (!may_be_unused && used_ == 0)) {
      fail("not all arguments were converted by this format");
    }
    return std::move(out_);
  }

 private:
  char take() {
    if (pos_ >= format_.size()) fail("this format ends inside a % directive");
    return format_[pos_++];
  }

  Value next_value() {
    if (values_.is(Type::kTuple)) {
      const auto& items = values_.as<List>().items;
      if (used_ >= items.size()) fail("not enough arguments for this format");
      return items[used_++];
    }
    if (used_++ > 0) fail("not enough arguments for this format");
    return values_;
  }

  Value keyed_value() {
    size_t begin = pos_;
    int open = 1;
    while (open > 0) {
      char c = take();
      open += c == '(' ? 1 : c == ')' ? -1 : 0;
    }
    if (!values_.is(Type::kDict)) fail("this format needs named values");
    mapping_used_ = true;
    std::string key(format_.substr(begin, pos_ - begin - 1));
    const Value* value = values_.as<Dict>().find(heap_, Value(heap_.string(key)));
    if (!value) fail("this format has no value named '{}'", key);
    return *value;
  }

  int64_t number_or_star() {
    if (pos_ < format_.size() && format_[pos_] == '*') {
      ++pos_;
      return to_integer(next_value(), "a width in a format");
    }
    int64_t number = 0;
    while (pos_ < format_.size() && format_[pos_] >= '0' && format_[pos_] <= '9') {
      number = number * 10 + (format_[pos_++] - '0');
      if (number > kWidest) fail("a width in this format is too large");
    }
    return number;
  }

  void directive() {
    if (pos_ < format_.size() && format_[pos_] == '%') {
      ++pos_;
      out_ += '%';
      return;
    }
    Spec spec;
    Value keyed;
    if (pos_ < format_.size() && format_[pos_] == '(') {
      ++pos_;
      keyed = keyed_value();
    }
    for (bool more = true; more && pos_ < format_.size();) {
      switch (format_[pos_]) {
        case '-':
          spec.left = true;
          break;
        case '+':
          spec.plus = true;
          break;
        case ' ':
          spec.space = true;
          break;
        case '#':
          spec.alternate = true;
          break;
        case '0':
          spec.zero = true;
          break;
        default:
          more = false;
      }
      if (more) ++pos_;
    }
    spec.width = number_or_star();
    if (spec.width < 0) {
      spec.left = true;
      spec.width = -spec.width;
    }
    if (pos_ < format_.size() && format_[pos_] == '.') {
      ++pos_;
      spec.precision = std::max<int64_t>(0, number_or_star());
    }
    while (pos_ < format_.size() &&
           (format_[pos_] == 'h' || format_[pos_] == 'l' || format_[pos_] == 'L'))
      ++pos_;
    spec.type = take();
    if (spec.type == '%') {
      out_ += '%';
      return;
    }
    if (std::string_view("sradiuxXoeEfFgGc").find(spec.type) == std::string_view::npos) {
      fail("unsupported format character '{}'", spec.type);
    }
    if (spec.width > kWidest || spec.precision > kWidest)
      fail("a width in this format is too large");
    heap_.charge_bytes(static_cast<size_t>(spec.width + std::max<int64_t>(0, spec.precision)));
    convert(spec, keyed.missing() ? next_value() : keyed);
  }

  void convert(const Spec& spec, const Value& value) {
    switch (spec.type) {
      case 's':
        return text(spec, str_of(heap_, value));
      case 'r':
        return text(spec, repr_of(heap_, value));
      case 'a':
        fail("the format %a is outside the supported subset; use %r");
      case 'c':
        return character(spec, value);
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        return integer(spec, value);
      default:
        return floating(spec, value);
    }
  }

  void text(const Spec& spec, std::string text) {
    if (spec.precision >= 0 && count_code_points(text) > static_cast<size_t>(spec.precision)) {
      size_t offset = 0;
      for (int64_t i = 0; i < spec.precision; ++i) next_code_point(text, offset);
      text.resize(offset);
    }
    pad(spec, "", std::move(text), false);
  }

  void character(const Spec& spec, const Value& value) {
    std::string text;
    if (value.is_string()) {
      if (value.as_string().length != 1) fail("%c needs one character");
      text = value.text();
    } else {
      int64_t code = to_integer(value, "the value for %c");
      if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        fail("%c needs a Unicode character");
      append_utf8(text, static_cast<char32_t>(code));
    }
    pad(spec, "", std::move(text), false);
  }

  void integer(const Spec& spec, const Value& value) {
    bool decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    int64_t number;
    if (value.is(Type::kFloat) && decimal) {
      double d = std::trunc(value.as_float());
      if (!(d >= -9223372036854775808.0 && d < 9223372036854775808.0))
        fail("%{} cannot write {}", spec.type, value.as_float());
      number = static_cast<int64_t>(d);
    } else {
      if (value.undefined()) fail_undefined(value);
      if (!value.is_integral()) fail("%{} needs a number, not {}", spec.type, type_name(value));
      number = value.as_int();
    }
    uint64_t magnitude =
        number < 0 ? ~static_cast<uint64_t>(number) + 1 : static_cast<uint64_t>(number);
    int base = decimal ? 10 : spec.type == 'o' ? 8 : 16;
    std::string digits = integer_digits(magnitude, base, spec.type == 'X');
    if (spec.precision > static_cast<int64_t>(digits.size())) {
      digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
    }
    std::string prefix = sign(spec, number < 0);
    if (spec.alternate && !decimal)
      prefix += spec.type == 'o' ? "0o" : spec.type == 'x' ? "0x" : "0X";
    pad(spec, prefix, std::move(digits), spec.zero);
  }

  void floating(const Spec& spec, const Value& value) {
    if (value.undefined()) fail_undefined(value);
    if (!value.is_number()) fail("%{} needs a number, not {}", spec.type, type_name(value));
    double number = to_double(value);
    int precision = spec.precision < 0 ? 6 : static_cast<int>(spec.precision);
    std::string digits = float_digits(std::fabs(number), spec.type, precision, spec.alternate);
    pad(spec, sign(spec, std::signbit(number) && !std::isnan(number)), std::move(digits),
        spec.zero);
  }

  static std::string sign(const Spec& spec, bool negative) {
    return negative ? "-" : spec.plus ? "+" : spec.space ? " " : "";
  }

  void pad(const Spec& spec, const std::string& prefix, std::string body, bool zero) {
    size_t length = count_code_points(prefix) + count_code_points(body);
    size_t fill =
        static_cast<size_t>(spec.width) > length ? static_cast<size_t>(spec.width) - length : 0;
    if (spec.left) {
      out_ += prefix + body;
      out_.append(fill, ' ');
    } else if (zero) {
      out_ += prefix;
      out_.append(fill, '0');
      out_ += body;
    } else {
      out_.append(fill, ' ');
      out_ += prefix + body;
    }
  }

  Heap& heap_;
  std::string_view format_;
  const Value& values_;
  size_t pos_ = 0;
  size_t used_ = 0;
  bool mapping_used_ = false;
  std::string out_;
};

}  // namespace

Value format_percent(Heap& heap, const String& format, const Value& values) {
  if (format.markup)
    fail("formatting Markup with % is outside the supported subset; use |string first");
  return heap.string(PercentFormatter(heap, format.text, values).run());
}

}  // namespace ffpa_jit::codegen
