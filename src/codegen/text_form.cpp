#include "codegen/text_form.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "codegen/failure.h"
#include "codegen/interpreter_objects.h"
#include "codegen/operators.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {
namespace {

// Writes repr(); keeps the chain of containers being written, for cycles ("[...]") and for the
// depth limit.
class ReprWriter {
 public:
  ReprWriter(Heap& heap, std::string& out) : heap_(heap), out_(out) {}

  void write(const Value& value) {
    switch (value.type()) {
      case Type::kUndefined:
        out_ += "Undefined";
        return;
      case Type::kNone:
        out_ += "None";
        return;
      case Type::kBool:
        out_ += value.as_bool() ? "True" : "False";
        return;
      case Type::kInt:
        out_ += std::to_string(value.as_int());
        return;
      case Type::kFloat:
        out_ += float_repr(value.as_float());
        return;
      case Type::kString: {
        std::string text = quoted(value.text());
        heap_.charge_bytes(text.size());
        out_ += value.as_string().markup ? fmt::format("Markup({})", text) : text;
        return;
      }
      case Type::kList:
        return sequence(value, "[", "]");
      case Type::kTuple:
        return sequence(value, "(", value.as<List>().items.size() == 1 ? ",)" : ")");
      case Type::kDict:
        return dict(value, value.as<Dict>());
      case Type::kRange:
        return range(value.as<Range>());
      case Type::kDictView:
        return view(value.as<DictView>());
      case Type::kNamespace:
        out_ += "<Namespace ";
        dict(value, *value.as<Namespace>().attributes);
        out_ += ">";
        return;
      case Type::kMacro:
        out_ += macro_repr(value.as<Macro>());
        return;
      case Type::kLoop:
        out_ += loop_repr(value.as<Loop>());
        return;
      case Type::kModule:
        out_ += fmt::format("<TemplateModule {}>", quoted(module_name(value.as<Module>())));
        return;
      case Type::kIterator:
        fail("a generator cannot be printed; add |list or |join");
      default:
        fail("{} cannot be printed", type_name(value));
    }
  }

 private:
  // Leaves false when `value` is already being written.
  bool enter(const Value& value) {
    if (std::find(open_.begin(), open_.end(), value.identity()) != open_.end()) return false;
    if (open_.size() >= heap_.limits().value_depth) {
      fail("values nested deeper than {} levels cannot be printed", heap_.limits().value_depth);
    }
    open_.push_back(value.identity());
    return true;
  }

  void sequence(const Value& value, std::string_view open, std::string_view close) {
    if (!enter(value)) {
      out_ += value.is(Type::kList) ? "[...]" : "(...)";
      return;
    }
    out_ += open;
    const auto& items = value.as<List>().items;
    for (size_t i = 0; i < items.size(); ++i) {
      heap_.charge_steps(1);
      if (i) out_ += ", ";
      write(items[i]);
    }
    out_ += close;
    open_.pop_back();
  }

  void dict(const Value& value, const Dict& dict) {
    if (!enter(value)) {
      out_ += "{...}";
      return;
    }
    out_ += "{";
    bool first = true;
    for (const Dict::Entry& entry : dict.entries) {
      heap_.charge_steps(1);
      if (!first) out_ += ", ";
      first = false;
      write(entry.key);
      out_ += ": ";
      write(entry.value);
    }
    out_ += "}";
    open_.pop_back();
  }

  void range(const Range& range) {
    out_ += fmt::format("range({}, {}", range.start, range.stop);
    if (range.step != 1) out_ += fmt::format(", {}", range.step);
    out_ += ")";
  }

  void view(const DictView& view) {
    Value as_value = Value::object(Type::kDictView, &view);
    bool first_time = enter(as_value);
    if (!first_time) {
      out_ += "...";
      return;
    }
    switch (view.kind) {
      case DictView::Kind::kKeys:
        out_ += "dict_keys([";
        break;
      case DictView::Kind::kValues:
        out_ += "dict_values([";
        break;
      case DictView::Kind::kItems:
        out_ += "dict_items([";
        break;
    }
    bool first = true;
    for (const Dict::Entry& entry : view.dict->entries) {
      heap_.charge_steps(1);
      if (!first) out_ += ", ";
      first = false;
      if (view.kind == DictView::Kind::kItems) out_ += "(";
      if (view.kind != DictView::Kind::kValues) write(entry.key);
      if (view.kind == DictView::Kind::kItems) out_ += ", ";
      if (view.kind != DictView::Kind::kKeys) write(entry.value);
      if (view.kind == DictView::Kind::kItems) out_ += ")";
    }
    out_ += "])";
    open_.pop_back();
  }

  Heap& heap_;
  std::string& out_;
  std::vector<const Object*> open_;
};

}  // namespace

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer;
  // Shortest scientific form, "d.ddde-XX": digits and exponent, laid out as Python does.
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                           std::chars_format::scientific)
                 .ptr;
  std::string_view text(buffer.data(), static_cast<size_t>(end - buffer.data()));
  std::string sign = text.front() == '-' ? "-" : "";
  text.remove_prefix(sign.size());
  size_t e = text.find('e');
  int exponent = std::stoi(std::string(text.substr(e + 1)));
  std::string digits;
  for (char c : text.substr(0, e)) {
    if (c != '.') digits += c;
  }
  auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    return fmt::format("{}{}{}{}e{}{:02}", sign, digits[0], count > 1 ? "." : "", digits.substr(1),
                       exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0)
    return fmt::format("{}0.{}{}", sign, std::string(static_cast<size_t>(-exponent - 1), '0'),
                       digits);
  if (count <= exponent + 1) {
    return fmt::format("{}{}{}.0", sign, digits,
                       std::string(static_cast<size_t>(exponent + 1 - count), '0'));
  }
  size_t whole = static_cast<size_t>(exponent) + 1;
  return fmt::format("{}{}.{}", sign, digits.substr(0, whole), digits.substr(whole));
}

std::string quoted(std::string_view text) {
  bool single = text.find('\'') != std::string_view::npos;
  bool dbl = text.find('"') != std::string_view::npos;
  char quote = single && !dbl ? '"' : '\'';
  std::string out(1, quote);
  for (size_t offset = 0; offset < text.size();) {
    size_t begin = offset;
    char32_t c = next_code_point(text, offset);
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_printable(c)) {
      out += text.substr(begin, offset - begin);
    } else if (c < 0x100) {
      out += fmt::format("\\x{:02x}", static_cast<uint32_t>(c));
    } else if (c < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c));
    } else {
      out += fmt::format("\\U{:08x}", static_cast<uint32_t>(c));
    }
  }
  out += quote;
  return out;
}

std::string repr_of(Heap& heap, const Value& value) {
  std::string out;
  ReprWriter(heap, out).write(value);
  return out;
}

void append_str(Heap& heap, std::string& out, const Value& value) {
  switch (value.type()) {
    case Type::kString:
      out += value.text();
      return;
    case Type::kUndefined:
      if (value.as<Undefined>().strict) fail_undefined(value);
      return;
    case Type::kModule:
      out += module_text(value.as<Module>());
      return;
    default:
      ReprWriter(heap, out).write(value);
  }
}

std::string str_of(Heap& heap, const Value& value) {
  std::string out;
  append_str(heap, out, value);
  return out;
}

const String& text_of(Heap& heap, const Value& value) {
  return value.is_string() ? value.as_string() : *heap.string(str_of(heap, value));
}

}  // namespace ffpa_jit::codegen
