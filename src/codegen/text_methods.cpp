// Methods of str that make new text or search in it.
#include <algorithm>

#include "codegen/failure.h"
#include "codegen/format.h"
#include "codegen/interpreter.h"
#include "codegen/iteration.h"
#include "codegen/methods.h"
#include "codegen/operators.h"
#include "codegen/text_form.h"
#include "codegen/text_search.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {
namespace {

using Args = BoundArguments;

const String& text_argument(const Value& value, std::string_view method) {
  if (value.undefined()) fail_undefined(value);
  if (!value.is_string()) fail("{} needs text, not {}", method, type_name(value));
  return value.as_string();
}

// New text with the Markup-ness of the old.
Value like(Interpreter& in, const Value& self, std::string text) {
  return in.heap().string(std::move(text), self.as_string().markup);
}

Value upper(Interpreter& in, const Value& self, const Args&) {
  return like(in, self, to_upper(self.text()));
}
Value lower(Interpreter& in, const Value& self, const Args&) {
  return like(in, self, to_lower(self.text()));
}
Value capitalize(Interpreter& in, const Value& self, const Args&) {
  return like(in, self, capitalized(self.text()));
}

Value title(Interpreter& in, const Value& self, const Args&) {
  std::u32string text = decode_utf8(self.text());
  std::string out;
  bool in_word = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (in_word) {
      append_lower(out, text, i);
    } else {
      append_title(out, text[i]);
    }
    in_word = is_lowercase(text[i]) || is_uppercase(text[i]) || is_titlecase(text[i]);
  }
  return like(in, self, std::move(out));
}

Value swapcase(Interpreter& in, const Value& self, const Args&) {
  std::u32string text = decode_utf8(self.text());
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_uppercase(text[i])) {
      append_lower(out, text, i);
    } else if (is_lowercase(text[i])) {
      out += to_upper(encode_utf8(std::u32string_view(text).substr(i, 1)));
    } else {
      append_utf8(out, text[i]);
    }
  }
  return like(in, self, std::move(out));
}

Value strip_sides(Interpreter& in, const Value& self, const Value& characters, bool left,
                  bool right, std::string_view name) {
  if (characters.missing() || characters.is(Type::kNone)) {
    return like(in, self, std::string(strip_space(self.text(), left, right)));
  }
  return like(in, self, stripped(self.text(), text_argument(characters, name).text, left, right));
}
Value strip(Interpreter& in, const Value& s, const Args& a) {
  return strip_sides(in, s, a[0], true, true, "strip");
}
Value lstrip(Interpreter& in, const Value& s, const Args& a) {
  return strip_sides(in, s, a[0], true, false, "lstrip");
}
Value rstrip(Interpreter& in, const Value& s, const Args& a) {
  return strip_sides(in, s, a[0], false, true, "rstrip");
}

Value split_text(Interpreter& in, const Value& self, const Args& args, bool from_right) {
  int64_t most = args[1].missing() ? -1 : to_integer(args[1], "maxsplit");
  std::vector<std::string> parts;
  if (args[0].missing() || args[0].is(Type::kNone)) {
    parts = split_on_space(self.text(), most, from_right);
  } else {
    const String& separator = text_argument(args[0], "split");
    if (separator.text.empty()) fail("the separator of split is empty");
    parts = split_on(self.text(), separator.text, most, from_right);
  }
  in.heap().charge_steps(parts.size());
  std::vector<Value> items;
  for (std::string& part : parts) items.push_back(like(in, self, std::move(part)));
  return in.heap().list(std::move(items));
}
Value split(Interpreter& in, const Value& self, const Args& args) {
  return split_text(in, self, args, false);
}
Value rsplit(Interpreter& in, const Value& self, const Args& args) {
  return split_text(in, self, args, true);
}

Value splitlines(Interpreter& in, const Value& self, const Args& args) {
  std::vector<Value> items;
  for (std::string& line : split_lines(self.text(), !args[0].missing() && truth(args[0]))) {
    in.heap().charge_steps(1);
    items.push_back(like(in, self, std::move(line)));
  }
  return in.heap().list(std::move(items));
}

Value join(Interpreter& in, const Value& self, const Args& args) {
  if (self.as_string().markup)
    fail("joining with Markup is outside the supported subset; use |join");
  std::string out;
  bool first = true;
  Iterator* elements = iterate(in.heap(), args[0]);
  Value element;
  while (elements->next(element)) {
    const String& text = text_argument(element, "join");
    in.heap().charge_bytes(text.text.size() + self.text().size());
    if (!first) out += self.text();
    first = false;
    out += text.text;
  }
  return in.heap().string(std::move(out));
}

Value replace(Interpreter& in, const Value& self, const Args& args) {
  int64_t most = args[2].missing() ? -1 : to_integer(args[2], "the count of replace");
  return like(in, self,
              replaced(in.heap(), self.text(), text_argument(args[0], "replace").text,
                       text_argument(args[1], "replace").text, most));
}

Value affix(Interpreter& in, const Value& self, const Args& args, bool prefix) {
  std::string_view text = search_window(self.as_string(), args[1], args[2]).text;
  bool inside = search_window(self.as_string(), args[1], args[2]).valid;
  auto matches = [&](const Value& value) {
    const std::string& wanted = text_argument(value, prefix ? "startswith" : "endswith").text;
    return inside && (prefix ? text.starts_with(wanted) : text.ends_with(wanted));
  };
  if (!args[0].is(Type::kTuple)) return Value::boolean(matches(args[0]));
  for (const Value& item : args[0].as<List>().items) {
    in.heap().charge_steps(1);
    if (matches(item)) return Value::boolean(true);
  }
  return Value::boolean(false);
}
Value startswith(Interpreter& in, const Value& self, const Args& args) {
  return affix(in, self, args, true);
}
Value endswith(Interpreter& in, const Value& self, const Args& args) {
  return affix(in, self, args, false);
}

int64_t position(const Value& self, const Args& args, bool from_right, std::string_view method) {
  const String& wanted = text_argument(args[0], method);
  SearchWindow window = search_window(self.as_string(), args[1], args[2]);
  if (!window.valid) return -1;
  size_t found = from_right ? window.text.rfind(wanted.text) : window.text.find(wanted.text);
  if (found == std::string_view::npos) return -1;
  return static_cast<int64_t>(window.start + count_code_points(window.text.substr(0, found)));
}
Value find(Interpreter&, const Value& s, const Args& a) {
  return Value::integer(position(s, a, false, "find"));
}
Value rfind(Interpreter&, const Value& s, const Args& a) {
  return Value::integer(position(s, a, true, "rfind"));
}
Value found_index(int64_t at) {
  if (at < 0) fail("substring not found");
  return Value::integer(at);
}
Value index(Interpreter&, const Value& s, const Args& a) {
  return found_index(position(s, a, false, "index"));
}
Value rindex(Interpreter&, const Value& s, const Args& a) {
  return found_index(position(s, a, true, "rindex"));
}

Value count(Interpreter& in, const Value& self, const Args& args) {
  const String& wanted = text_argument(args[0], "count");
  SearchWindow window = search_window(self.as_string(), args[1], args[2]);
  if (!window.valid) return Value::integer(0);
  if (wanted.text.empty())
    return Value::integer(static_cast<int64_t>(count_code_points(window.text)) + 1);
  int64_t total = 0;
  for (size_t at = window.text.find(wanted.text); at != std::string_view::npos;
       at = window.text.find(wanted.text, at + wanted.text.size())) {
    in.heap().charge_steps(1);
    ++total;
  }
  return Value::integer(total);
}

std::string fill_argument(const Value& value) {
  if (value.missing()) return " ";
  const String& fill = text_argument(value, "a fill character");
  if (fill.length != 1) fail("the fill must be exactly one character");
  return fill.text;
}

Value justify(Interpreter& in, const Value& self, const Args& args, char side) {
  int64_t width = to_integer(args[0], "a width");
  std::string fill = fill_argument(args[1]);
  return like(in, self, justified(in.heap(), self.as_string(), width, fill, side));
}
Value center(Interpreter& in, const Value& s, const Args& a) { return justify(in, s, a, '^'); }
Value ljust(Interpreter& in, const Value& s, const Args& a) { return justify(in, s, a, '<'); }
Value rjust(Interpreter& in, const Value& s, const Args& a) { return justify(in, s, a, '>'); }

Value zfill(Interpreter& in, const Value& self, const Args& args) {
  int64_t width = to_integer(args[0], "a width");
  const std::string& text = self.text();
  bool sign = !text.empty() && (text[0] == '+' || text[0] == '-');
  const String* body = in.heap().string(text.substr(sign ? 1 : 0));
  if (sign && width > INT64_MIN) --width;
  return like(in, self,
              text.substr(0, sign ? 1 : 0) + justified(in.heap(), *body, width, "0", '>'));
}

Value removeprefix(Interpreter& in, const Value& self, const Args& args) {
  const std::string& prefix = text_argument(args[0], "removeprefix").text;
  const std::string& text = self.text();
  return like(in, self, text.starts_with(prefix) ? text.substr(prefix.size()) : text);
}
Value removesuffix(Interpreter& in, const Value& self, const Args& args) {
  const std::string& suffix = text_argument(args[0], "removesuffix").text;
  const std::string& text = self.text();
  return like(in, self,
              text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text);
}

Value partition_at(Interpreter& in, const Value& self, const Args& args, bool from_right) {
  const std::string& separator = text_argument(args[0], "partition").text;
  if (separator.empty()) fail("the separator of partition is empty");
  const std::string& text = self.text();
  size_t at = from_right ? text.rfind(separator) : text.find(separator);
  auto piece = [&](std::string s) { return like(in, self, std::move(s)); };
  if (at == std::string::npos) {
    return from_right ? in.heap().tuple({piece(""), piece(""), piece(text)})
                      : in.heap().tuple({piece(text), piece(""), piece("")});
  }
  return in.heap().tuple(
      {piece(text.substr(0, at)), piece(separator), piece(text.substr(at + separator.size()))});
}
Value partition(Interpreter& in, const Value& s, const Args& a) {
  return partition_at(in, s, a, false);
}
Value rpartition(Interpreter& in, const Value& s, const Args& a) {
  return partition_at(in, s, a, true);
}

Value expandtabs(Interpreter& in, const Value& self, const Args& args) {
  int64_t size = args[0].missing() ? 8 : to_integer(args[0], "the tab size");
  std::string out;
  int64_t column = 0;
  const std::string& text = self.text();
  for (size_t offset = 0; offset < text.size();) {
    size_t begin = offset;
    char32_t c = next_code_point(text, offset);
    if (c == '\t') {
      int64_t spaces = size > 0 ? size - column % size : 0;
      in.heap().charge_bytes(static_cast<size_t>(spaces));
      out.append(static_cast<size_t>(spaces), ' ');
      column += spaces;
    } else {
      out.append(text, begin, offset - begin);
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  return like(in, self, std::move(out));
}

Value format(Interpreter& in, const Value& self, const CallArguments& arguments) {
  return format_braces(in.heap(), self.as_string(), arguments);
}

constexpr Parameters kNone{};
Parameters positional(std::array<std::string_view, Parameters::kMost> names, size_t required) {
  return {names, required, true};
}

const Method kMethods[] = {
    {"upper", kNone, upper},
    {"lower", kNone, lower},
    {"capitalize", kNone, capitalize},
    {"title", kNone, title},
    {"swapcase", kNone, swapcase},
    {"strip", positional({"chars"}, 0), strip},
    {"lstrip", positional({"chars"}, 0), lstrip},
    {"rstrip", positional({"chars"}, 0), rstrip},
    {"split", {{"sep", "maxsplit"}, 0}, split},
    {"rsplit", {{"sep", "maxsplit"}, 0}, rsplit},
    {"splitlines", {{"keepends"}, 0}, splitlines},
    {"join", positional({"iterable"}, 1), join},
    {"replace", positional({"old", "new", "count"}, 2), replace},
    {"startswith", positional({"prefix", "start", "end"}, 1), startswith},
    {"endswith", positional({"suffix", "start", "end"}, 1), endswith},
    {"find", positional({"sub", "start", "end"}, 1), find},
    {"rfind", positional({"sub", "start", "end"}, 1), rfind},
    {"index", positional({"sub", "start", "end"}, 1), index},
    {"rindex", positional({"sub", "start", "end"}, 1), rindex},
    {"count", positional({"sub", "start", "end"}, 1), count},
    {"center", positional({"width", "fillchar"}, 1), center},
    {"ljust", positional({"width", "fillchar"}, 1), ljust},
    {"rjust", positional({"width", "fillchar"}, 1), rjust},
    {"zfill", positional({"width"}, 1), zfill},
    {"removeprefix", positional({"prefix"}, 1), removeprefix},
    {"removesuffix", positional({"suffix"}, 1), removesuffix},
    {"partition", positional({"sep"}, 1), partition},
    {"rpartition", positional({"sep"}, 1), rpartition},
    {"expandtabs", {{"tabsize"}, 0}, expandtabs},
    {"format", kNone, nullptr, format},
};

}  // namespace

const std::span<const Method> kTextMethods(kMethods);

}  // namespace ffpa_jit::codegen
