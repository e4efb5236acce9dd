#include "problem/canonical_text.h"

#include <charconv>

#include "base/error.h"

namespace ffpa_jit {

std::string in_quotes(std::string_view text) {
  constexpr size_t kShown = 120;
  std::string out = "\"";
  for (char c : text.substr(0, kShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  out += text.size() > kShown ? "...\"" : "\"";
  return out;
}

std::string_view CanonicalReader::next() const {
  if (position_ >= text_.size()) return {};
  return text_.substr(position_, text_.find(' ', position_) - position_);
}

void CanonicalReader::advance() {
  position_ += next().size();
  if (position_ < text_.size())
    ++position_;  // the one space; a second one makes the next word empty
}

bool CanonicalReader::take(std::string_view word) {
  if (word.empty() || next() != word) return false;
  advance();
  return true;
}

std::optional<std::string_view> CanonicalReader::take_value(std::string_view name) {
  const std::string_view word = next();
  if (!word.starts_with(name) || word.size() == name.size() || word[name.size()] != '=')
    return std::nullopt;
  advance();
  return word.substr(name.size() + 1);
}

std::string_view CanonicalReader::word(std::string_view field, std::string_view allowed) {
  const std::string_view word = next();
  if (word.empty()) fail(fmt::format("{} is missing; allowed: {}", field, allowed));
  advance();
  return word;
}

std::string_view CanonicalReader::value(std::string_view name, std::string_view allowed) {
  if (auto value = take_value(name)) return *value;
  if (next().empty()) fail(fmt::format("\"{}=\" is missing; allowed: {}", name, allowed));
  fail(fmt::format("{} stands where \"{}=\" must stand; allowed: {}", in_quotes(next()), name,
                   allowed));
}

int64_t CanonicalReader::integer(std::string_view name, int64_t min, int64_t max) {
  return to_integer(name, value(name, fmt::format("{} to {}", min, max)), min, max);
}

int64_t CanonicalReader::to_integer(std::string_view name, std::string_view digits, int64_t min,
                                    int64_t max) const {
  int64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  const bool canonical = error == std::errc() && stop == end && std::to_string(number) == digits;
  if (!canonical || number < min || number > max) {
    fail(fmt::format("{} is {}; allowed: a whole number from {} to {}", name, in_quotes(digits),
                     min, max));
  }
  return number;
}

void CanonicalReader::finish(std::string_view allowed) const {
  if (position_ < text_.size()) {
    fail(fmt::format("{} is not expected here; allowed: {}", in_quotes(text_.substr(position_)),
                     allowed));
  }
  if (!text_.empty() && text_.back() == ' ')
    fail("ends in a space; allowed: one space between words");
}

void CanonicalReader::fail(std::string_view reason) const {
  throw_error(FFPA_JIT_INVALID_ARGUMENT, "{} {}: {}", what_, in_quotes(text_), reason);
}

}  // namespace ffpa_jit
