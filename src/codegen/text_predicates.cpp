// Methods of str that answer true or false about all characters.
#include "codegen/methods.h"
#include "codegen/text_case.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {

bool is_lower_text(std::string_view text) {
  bool cased = false;
  for (size_t offset = 0; offset < text.size();) {
    char32_t c = next_code_point(text, offset);
    if (is_uppercase(c) || is_titlecase(c)) return false;
    cased = cased || is_lowercase(c);
  }
  return cased;
}

bool is_upper_text(std::string_view text) {
  bool cased = false;
  for (size_t offset = 0; offset < text.size();) {
    char32_t c = next_code_point(text, offset);
    if (is_lowercase(c) || is_titlecase(c)) return false;
    cased = cased || is_uppercase(c);
  }
  return cased;
}

namespace {

using Args = BoundArguments;

bool is_ascii(char32_t c) { return c < 0x80; }
bool is_identifier_start(char32_t c) { return c == '_' || is_alphabetic(c); }
bool is_identifier_part(char32_t c) { return c == '_' || is_alphanumeric(c); }

template <bool (*kPredicate)(char32_t), bool kOfEmpty = false>
Value all(Interpreter&, const Value& self, const Args&) {
  const std::string& text = self.text();
  if (text.empty()) return Value::boolean(kOfEmpty);
  for (size_t offset = 0; offset < text.size();) {
    if (!kPredicate(next_code_point(text, offset))) return Value::boolean(false);
  }
  return Value::boolean(true);
}

Value islower(Interpreter&, const Value& self, const Args&) {
  return Value::boolean(is_lower_text(self.text()));
}
Value isupper(Interpreter&, const Value& self, const Args&) {
  return Value::boolean(is_upper_text(self.text()));
}

Value istitle(Interpreter&, const Value& self, const Args&) {
  bool cased = false, in_word = false;
  const std::string& text = self.text();
  for (size_t offset = 0; offset < text.size();) {
    char32_t c = next_code_point(text, offset);
    if (is_uppercase(c) || is_titlecase(c)) {
      if (in_word) return Value::boolean(false);
      in_word = cased = true;
    } else if (is_lowercase(c)) {
      if (!in_word) return Value::boolean(false);
      cased = true;
    } else {
      in_word = false;
    }
  }
  return Value::boolean(cased);
}

Value isidentifier(Interpreter&, const Value& self, const Args&) {
  const std::string& text = self.text();
  if (text.empty()) return Value::boolean(false);
  size_t offset = 0;
  if (!is_identifier_start(next_code_point(text, offset))) return Value::boolean(false);
  while (offset < text.size()) {
    if (!is_identifier_part(next_code_point(text, offset))) return Value::boolean(false);
  }
  return Value::boolean(true);
}

const Method kMethods[] = {
    {"isdigit", {}, all<is_digit>},
    {"isalpha", {}, all<is_alphabetic>},
    {"isalnum", {}, all<is_alphanumeric>},
    {"isspace", {}, all<is_space>},
    {"isdecimal", {}, all<is_decimal>},
    {"isnumeric", {}, all<is_numeric>},
    {"isascii", {}, all<is_ascii, true>},
    {"isprintable", {}, all<is_printable, true>},
    {"islower", {}, islower},
    {"isupper", {}, isupper},
    {"istitle", {}, istitle},
    {"isidentifier", {}, isidentifier},
};

}  // namespace

const std::span<const Method> kTextPredicates(kMethods);

}  // namespace ffpa_jit::codegen
