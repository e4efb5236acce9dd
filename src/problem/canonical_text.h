// Reads canonical texts: words separated by exactly one space, in a fixed order, each a plain word
// or "name=value". Used by every parse function of src/problem and src/kernel; all of them are
// strict, since the text is a cache key and two spellings of one value would be two keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ffpa_jit {

// `text` in quotes, control characters escaped, cut after 120 characters: fit for an error message.
std::string in_quotes(std::string_view text);

class CanonicalReader {
 public:
  // `what` begins every message, e.g. "problem text". `text` must outlive the reader.
  CanonicalReader(std::string_view what, std::string_view text) : what_(what), text_(text) {}

  // Optional parts. take(): the next word is exactly `word`. take_value(): it is "name=...".
  bool take(std::string_view word);
  std::optional<std::string_view> take_value(std::string_view name);

  // Required parts; throw Error INVALID_ARGUMENT when the next word is another one. `allowed` is
  // for the message.
  std::string_view word(std::string_view field, std::string_view allowed);
  std::string_view value(std::string_view name, std::string_view allowed);
  int64_t integer(std::string_view name, int64_t min, int64_t max);

  // A decimal number without sign (but "-" when min < 0), leading zeros or anything around it.
  int64_t to_integer(std::string_view name, std::string_view digits, int64_t min,
                     int64_t max) const;

  // Throws when words are left over; `allowed` says what could have stood there.
  void finish(std::string_view allowed) const;

  [[noreturn]] void fail(std::string_view reason) const;

 private:
  std::string_view next() const;  // the next word, "" at the end
  void advance();

  std::string_view what_;
  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace ffpa_jit
