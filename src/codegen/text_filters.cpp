// Filters on text.
#include <algorithm>

#include "codegen/failure.h"
#include "codegen/filters.h"
#include "codegen/format.h"
#include "codegen/interpreter.h"
#include "codegen/markup.h"
#include "codegen/operators.h"
#include "codegen/output.h"
#include "codegen/text_form.h"
#include "codegen/text_search.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {
namespace {

using Args = BoundArguments;

Value like(Interpreter& in, const String& original, std::string text) {
  return in.heap().string(std::move(text), original.markup);
}

Value upper(Interpreter& in, const Value& input, const Args&) {
  const String& text = text_of(in.heap(), input);
  return like(in, text, to_upper(text.text));
}
Value lower(Interpreter& in, const Value& input, const Args&) {
  const String& text = text_of(in.heap(), input);
  return like(in, text, to_lower(text.text));
}
Value capitalize(Interpreter& in, const Value& input, const Args&) {
  const String& text = text_of(in.heap(), input);
  return like(in, text, capitalized(text.text));
}

// Words begin after - ( { [ < and whitespace.
Value title(Interpreter& in, const Value& input, const Args&) {
  const String& text = text_of(in.heap(), input);
  std::string out, word;
  auto flush = [&] {
    if (word.empty()) return;
    size_t offset = 0;
    next_code_point(word, offset);
    out += to_upper(std::string_view(word).substr(0, offset)) +
           to_lower(std::string_view(word).substr(offset));
    word.clear();
  };
  for (size_t offset = 0; offset < text.text.size();) {
    size_t begin = offset;
    char32_t c = next_code_point(text.text, offset);
    if (c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c)) {
      flush();
      out.append(text.text, begin, offset - begin);
    } else {
      word.append(text.text, begin, offset - begin);
    }
  }
  flush();
  return in.heap().string(std::move(out));
}

Value trim(Interpreter& in, const Value& input, const Args& args) {
  const String& text = text_of(in.heap(), input);
  if (!args[0].missing() && !args[0].is(Type::kNone)) {
    if (!args[0].is_string()) fail("trim needs text, not {}", type_name(args[0]));
    return like(in, text, stripped(text.text, args[0].text(), true, true));
  }
  Value result = like(in, text, std::string(strip_space(text.text, true, true)));
  std::string_view dropped = std::string_view(text.text).substr(0, skip_space(text.text, 0));
  keep_line_origins(in.heap(), text, result.as_string(),
                    static_cast<size_t>(std::count(dropped.begin(), dropped.end(), '\n')));
  return result;
}

Value indent(Interpreter& in, const Value& input, const Args& args) {
  if (input.undefined()) fail_undefined(input);
  if (!input.is_string()) fail("indent needs text, not {}", type_name(input));
  const String& text = input.as_string();
  std::string prefix;
  if (args[0].missing() || !args[0].is_string()) {
    int64_t width = args[0].missing() ? 4 : to_integer(args[0], "the width of indent");
    in.heap().charge_bytes(static_cast<size_t>(std::max<int64_t>(0, width)));
    prefix = std::string(static_cast<size_t>(std::max<int64_t>(0, width)), ' ');
  } else {
    prefix = args[0].text();
  }
  bool first = !args[1].missing() && truth(args[1]);
  bool blank = !args[2].missing() && truth(args[2]);
  std::string out;
  std::vector<std::string> lines = split_lines(text.text + "\n", false);
  for (size_t i = 0; i < lines.size(); ++i) {
    in.heap().charge_bytes(prefix.size() + lines[i].size());
    if (i) out += '\n';
    if (i == 0 ? first : blank || !lines[i].empty()) out += prefix;
    out += lines[i];
  }
  Value result = like(in, text, std::move(out));
  keep_line_origins(in.heap(), text, result.as_string(), 0);
  return result;
}

Value replace(Interpreter& in, const Value& input, const Args& args) {
  int64_t most = args[2].missing() || args[2].is(Type::kNone)
                     ? -1
                     : to_integer(args[2], "the count of replace");
  return in.heap().string(replaced(in.heap(), str_of(in.heap(), input), str_of(in.heap(), args[0]),
                                   str_of(in.heap(), args[1]), most));
}

Value string(Interpreter& in, const Value& input, const Args&) {
  return Value(&text_of(in.heap(), input));
}

Value center(Interpreter& in, const Value& input, const Args& args) {
  const String& text = text_of(in.heap(), input);
  int64_t width = args[0].missing() ? 80 : to_integer(args[0], "the width of center");
  return like(in, text, justified(in.heap(), text, width, " ", '^'));
}

Value truncate(Interpreter& in, const Value& input, const Args& args) {
  if (input.undefined()) fail_undefined(input);
  if (!input.is_string()) fail("truncate needs text, not {}", type_name(input));
  const String& text = input.as_string();
  int64_t length = args[0].missing() ? 255 : to_integer(args[0], "the length of truncate");
  bool kill_words = !args[1].missing() && truth(args[1]);
  const String& end = args[2].missing() ? *in.heap().string("...") : text_of(in.heap(), args[2]);
  int64_t leeway = args[3].missing() || args[3].is(Type::kNone)
                       ? 5
                       : to_integer(args[3], "the leeway of truncate");
  auto end_length = static_cast<int64_t>(end.length);
  if (length < end_length) fail("truncate: the length is shorter than the end mark");
  if (leeway < 0) fail("truncate: the leeway is negative");
  if (static_cast<int64_t>(text.length) - leeway <= length) return input;
  std::string cut =
      slice(in.heap(), input, Value(), Value::integer(length - end_length), Value()).text();
  if (!kill_words) {
    size_t space = cut.rfind(' ');
    if (space != std::string::npos) cut.resize(space);
  }
  return concatenate_text(in.heap(), like(in, text, std::move(cut)).as_string(), end);
}

// \w+
Value wordcount(Interpreter& in, const Value& input, const Args&) {
  const String& text = text_of(in.heap(), input);
  int64_t words = 0;
  bool inside = false;
  for (size_t offset = 0; offset < text.text.size();) {
    char32_t c = next_code_point(text.text, offset);
    bool word = c == '_' || is_alphanumeric(c);
    words += word && !inside;
    inside = word;
  }
  return Value::integer(words);
}

Value format(Interpreter& in, const Value& input, const CallArguments& arguments) {
  if (!arguments.positional.empty() && !arguments.keyword.empty()) {
    fail("format takes positional or named values, not both");
  }
  const String& text = text_of(in.heap(), input);
  if (arguments.keyword.empty())
    return format_percent(in.heap(), text, in.heap().tuple(arguments.positional));
  auto* dict = in.heap().make<Dict>();
  for (const auto& [name, value] : arguments.keyword) dict->set(in.heap(), Value(name), value);
  return format_percent(in.heap(), text, Value::object(Type::kDict, dict));
}

Value tojson(Interpreter& in, const Value& input, const Args& args) {
  return in.heap().string(to_json(in.heap(), input, args[0]), true);
}

Value safe(Interpreter& in, const Value& input, const Args&) {
  return in.heap().string(str_of(in.heap(), input), true);
}

Value escape(Interpreter& in, const Value& input, const Args&) {
  if (input.is_string() && input.as_string().markup) return input;
  return in.heap().string(escape_html(str_of(in.heap(), input)), true);
}
Value forceescape(Interpreter& in, const Value& input, const Args&) {
  return in.heap().string(escape_html(str_of(in.heap(), input)), true);
}

const FilterEntry kFilters[] = {
    {"upper", {}, upper},
    {"lower", {}, lower},
    {"capitalize", {}, capitalize},
    {"title", {}, title},
    {"trim", {{"chars"}, 0}, trim},
    {"indent", {{"width", "first", "blank"}, 0}, indent},
    {"replace", {{"old", "new", "count"}, 2}, replace},
    {"string", {}, string},
    {"center", {{"width"}, 0}, center},
    {"truncate", {{"length", "killwords", "end", "leeway"}, 0}, truncate},
    {"wordcount", {}, wordcount},
    {"format", {}, nullptr, format},
    {"tojson", {{"indent"}, 0}, tojson},
    {"safe", {}, safe},
    {"escape", {}, escape},
    {"e", {}, escape},
    {"forceescape", {}, forceescape},
};

}  // namespace

const std::span<const FilterEntry> kTextFilters(kFilters);

}  // namespace ffpa_jit::codegen
