#include "codegen/unicode.h"

#include <algorithm>

#include "codegen/unicode_tables.h"

namespace ffpa_jit::codegen {
namespace {

// Length of the sequence that a lead byte announces; 0 for a byte that cannot lead.
size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

bool in_table(std::span<const CharacterRange> table, char32_t c) {
  auto after =
      std::upper_bound(table.begin(), table.end(), static_cast<uint32_t>(c),
                       [](uint32_t value, const CharacterRange& r) { return value < r.first; });
  return after != table.begin() && c <= (after - 1)->last;
}

void append_mapped(std::string& out, char32_t c, std::span<const CaseRun> runs,
                   std::span<const CaseSpecial> specials) {
  auto after = std::upper_bound(runs.begin(), runs.end(), static_cast<uint32_t>(c),
                                [](uint32_t value, const CaseRun& r) { return value < r.first; });
  if (after != runs.begin()) {
    const CaseRun& run = *(after - 1);
    if (c <= run.last && (c - run.first) % run.stride == 0) {
      append_utf8(out, static_cast<char32_t>(static_cast<int32_t>(c) + run.delta));
      return;
    }
  }
  auto special =
      std::lower_bound(specials.begin(), specials.end(), static_cast<uint32_t>(c),
                       [](const CaseSpecial& s, uint32_t value) { return s.character < value; });
  if (special != specials.end() && special->character == c) {
    for (const char32_t* p = special->text; *p; ++p) append_utf8(out, *p);
    return;
  }
  append_utf8(out, c);
}

// A capital sigma becomes the final form at the end of a word.
bool is_final_sigma(std::u32string_view text, size_t i) {
  size_t before = i;
  while (before > 0 && in_table(kCaseIgnorable, text[before - 1])) --before;
  if (before == 0 || !in_table(kCased, text[before - 1])) return false;
  size_t after = i + 1;
  while (after < text.size() && in_table(kCaseIgnorable, text[after])) ++after;
  return after == text.size() || !in_table(kCased, text[after]);
}

}  // namespace

size_t find_invalid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    size_t length = sequence_length(lead);
    if (length == 0 || i + length > text.size()) return i;
    for (size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return i;
    }
    auto second = static_cast<unsigned char>(text[i + 1]);
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second >= 0xA0) ||
        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second >= 0x90)) {
      return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

size_t count_code_points(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

char32_t next_code_point(std::string_view text, size_t& offset) {
  auto lead = static_cast<unsigned char>(text[offset++]);
  size_t length = sequence_length(lead);
  if (length < 2) return lead;
  char32_t c = lead & (0x7F >> length);
  for (size_t k = 1; k < length && offset < text.size(); ++k, ++offset) {
    auto byte = static_cast<unsigned char>(text[offset]);
    if ((byte & 0xC0) != 0x80) break;
    c = (c << 6) | (byte & 0x3F);
  }
  return c;
}

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  for (size_t offset = 0; offset < text.size();) out += next_code_point(text, offset);
  return out;
}

std::string encode_utf8(std::u32string_view text) {
  std::string out;
  for (char32_t c : text) append_utf8(out, c);
  return out;
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_line_boundary(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

size_t skip_space(std::string_view text, size_t offset) {
  while (offset < text.size()) {
    size_t next = offset;
    if (!is_space(next_code_point(text, next))) break;
    offset = next;
  }
  return offset;
}

size_t length_without_trailing_space(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t begin = end - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    size_t offset = begin;
    if (!is_space(next_code_point(text, offset))) break;
    end = begin;
  }
  return end;
}

std::string_view strip_space(std::string_view text, bool left, bool right) {
  if (right) text = text.substr(0, length_without_trailing_space(text));
  return left ? text.substr(skip_space(text, 0)) : text;
}

bool is_alphabetic(char32_t c) { return in_table(kAlphabetic, c); }
bool is_decimal(char32_t c) { return in_table(kDecimal, c); }
bool is_digit(char32_t c) { return in_table(kDigit, c); }
bool is_numeric(char32_t c) { return in_table(kNumeric, c); }
bool is_lowercase(char32_t c) { return in_table(kLowercase, c); }
bool is_uppercase(char32_t c) { return in_table(kUppercase, c); }
bool is_titlecase(char32_t c) { return in_table(kTitlecase, c); }
bool is_printable(char32_t c) { return in_table(kPrintable, c); }

std::string to_upper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t offset = 0; offset < text.size();) {
    char32_t c = next_code_point(text, offset);
    if (c < 0x80) {
      out += static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    } else {
      append_mapped(out, c, kToUpper, kToUpperSpecial);
    }
  }
  return out;
}

void append_lower(std::string& out, std::u32string_view text, size_t i) {
  if (text[i] == 0x3A3) {
    append_utf8(out, is_final_sigma(text, i) ? 0x3C2 : 0x3C3);
  } else {
    append_mapped(out, text[i], kToLower, kToLowerSpecial);
  }
}

std::string to_lower(std::string_view text) {
  bool ascii = std::all_of(text.begin(), text.end(),
                           [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  std::string out;
  out.reserve(text.size());
  if (ascii) {
    for (char c : text) out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return out;
  }
  std::u32string wide = decode_utf8(text);
  for (size_t i = 0; i < wide.size(); ++i) append_lower(out, wide, i);
  return out;
}

void append_title(std::string& out, char32_t c) {
  append_mapped(out, c, kToTitle, kToTitleSpecial);
}

}  // namespace ffpa_jit::codegen
