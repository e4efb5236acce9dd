// json.dumps as the `tojson` filter calls it: sorted keys, ASCII, and < > & ' escaped.
#include <algorithm>

#include "codegen/failure.h"
#include "codegen/operators.h"
#include "codegen/text_form.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {
namespace {

class JsonWriter {
 public:
  JsonWriter(Heap& heap, const Value& indent) : heap_(heap) {
    if (indent.missing() || indent.is(Type::kNone)) return;
    pretty_ = true;
    if (indent.is_string()) {
      indent_ = indent.text();
    } else {
      int64_t width = std::max<int64_t>(0, to_integer(indent, "the indent of tojson"));
      heap.charge_bytes(static_cast<size_t>(width));
      indent_ = std::string(static_cast<size_t>(width), ' ');
    }
  }

  void write(const Value& value) {
    switch (value.type()) {
      case Type::kNone:
        out_ += "null";
        return;
      case Type::kBool:
        out_ += value.as_bool() ? "true" : "false";
        return;
      case Type::kInt:
        out_ += std::to_string(value.as_int());
        return;
      case Type::kFloat:
        out_ += number(value.as_float());
        return;
      case Type::kString:
        string(value.text());
        return;
      case Type::kList:
      case Type::kTuple:
        return list(value.as<List>());
      case Type::kDict:
        return dict(value.as<Dict>());
      case Type::kUndefined:
        fail_undefined(value);
      default:
        fail("{} is not JSON serializable", type_name(value));
    }
  }

  std::string take() { return std::move(out_); }

 private:
  static std::string number(double value) {
    std::string text = float_repr(value);
    if (text == "inf") return "Infinity";
    if (text == "-inf") return "-Infinity";
    return text == "nan" ? "NaN" : text;
  }

  void unit(uint32_t code) { out_ += fmt::format("\\u{:04x}", code); }

  void string(std::string_view text) {
    heap_.charge_bytes(text.size());
    out_ += '"';
    for (size_t offset = 0; offset < text.size();) {
      auto c = static_cast<uint32_t>(next_code_point(text, offset));
      switch (c) {
        case '"':
          out_ += "\\\"";
          continue;
        case '\\':
          out_ += "\\\\";
          continue;
        case '\n':
          out_ += "\\n";
          continue;
        case '\r':
          out_ += "\\r";
          continue;
        case '\t':
          out_ += "\\t";
          continue;
        case '\b':
          out_ += "\\b";
          continue;
        case '\f':
          out_ += "\\f";
          continue;
        case '<':
        case '>':
        case '&':
        case '\'':
          unit(c);
          continue;
        default:
          break;
      }
      if (c >= 0x20 && c < 0x7F) {
        out_ += static_cast<char>(c);
      } else if (c == 0x7F) {
        out_ += '\x7f';
      } else if (c < 0x10000) {
        unit(c);
      } else {
        unit(0xD800 + ((c - 0x10000) >> 10));
        unit(0xDC00 + ((c - 0x10000) & 0x3FF));
      }
    }
    out_ += '"';
  }

  void new_line() {
    if (!pretty_) return;
    heap_.charge_bytes(indent_.size() * depth_);
    out_ += '\n';
    for (size_t i = 0; i < depth_; ++i) out_ += indent_;
  }

  void open(char bracket) {
    if (++depth_ > heap_.limits().value_depth) {
      fail("values nested deeper than {} levels are not JSON serializable",
           heap_.limits().value_depth);
    }
    out_ += bracket;
  }

  void separator(bool first) {
    heap_.charge_steps(1);
    if (!first) out_ += pretty_ ? "," : ", ";
    new_line();
  }

  void close(char bracket) {
    --depth_;
    new_line();
    out_ += bracket;
  }

  void list(const List& list) {
    if (list.items.empty()) {
      out_ += "[]";
      return;
    }
    open('[');
    for (size_t i = 0; i < list.items.size(); ++i) {
      separator(i == 0);
      write(list.items[i]);
    }
    close(']');
  }

  static std::string key_text(const Value& key) {
    switch (key.type()) {
      case Type::kString:
        return key.text();
      case Type::kNone:
        return "null";
      case Type::kBool:
        return key.as_bool() ? "true" : "false";
      case Type::kInt:
        return std::to_string(key.as_int());
      case Type::kFloat:
        return number(key.as_float());
      default:
        fail("{} cannot be a key in JSON", type_name(key));
    }
  }

  void dict(const Dict& dict) {
    if (dict.entries.empty()) {
      out_ += "{}";
      return;
    }
    std::vector<const Dict::Entry*> entries;
    for (const Dict::Entry& entry : dict.entries) entries.push_back(&entry);
    std::stable_sort(entries.begin(), entries.end(),
                     [&](const auto* a, const auto* b) { return less(heap_, a->key, b->key); });
    open('{');
    for (size_t i = 0; i < entries.size(); ++i) {
      separator(i == 0);
      string(key_text(entries[i]->key));
      out_ += ": ";
      write(entries[i]->value);
    }
    close('}');
  }

  Heap& heap_;
  bool pretty_ = false;
  std::string indent_;
  size_t depth_ = 0;
  std::string out_;
};

}  // namespace

std::string to_json(Heap& heap, const Value& value, const Value& indent) {
  JsonWriter writer(heap, indent);
  writer.write(value);
  return writer.take();
}

}  // namespace ffpa_jit::codegen
