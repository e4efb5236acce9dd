// Escapes of string literals, by the rules of Python's "unicode-escape" codec.
#include <cstdlib>

#include "codegen/failure.h"
#include "codegen/lexer.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char32_t read_hex(std::string_view text, size_t& pos, int digits) {
  char32_t value = 0;
  for (int i = 0; i < digits; ++i, ++pos) {
    int digit = pos < text.size() ? hex_value(text[pos]) : -1;
    if (digit < 0) fail("an escape in this string needs {} hexadecimal digits", digits);
    value = value * 16 + static_cast<char32_t>(digit);
  }
  return value;
}

char32_t read_octal(std::string_view text, size_t& pos) {
  char32_t value = 0;
  for (int i = 0; i < 3 && pos < text.size() && text[pos] >= '0' && text[pos] <= '7'; ++i, ++pos) {
    value = value * 8 + static_cast<char32_t>(text[pos] - '0');
  }
  return value;
}

// The single-character escapes; 0 for none.
char simple_escape(char c) {
  switch (c) {
    case '\\':
      return '\\';
    case '\'':
      return '\'';
    case '"':
      return '"';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'v':
      return '\v';
    default:
      return 0;
  }
}

// An unknown escape keeps its backslash. Before a non-ASCII character Jinja leaves that character's
// own escape behind ("\é" becomes the five characters "\xe9"): it escapes those first, and the two
// backslashes then pair up.
void keep_unknown_escape(std::string& out, std::string_view text, size_t& pos) {
  out += '\\';
  if (static_cast<unsigned char>(text[pos]) < 0x80) return;
  auto code_point = static_cast<uint32_t>(next_code_point(text, pos));
  if (code_point < 0x100) {
    out += fmt::format("x{:02x}", code_point);
  } else if (code_point < 0x10000) {
    out += fmt::format("u{:04x}", code_point);
  } else {
    out += fmt::format("U{:08x}", code_point);
  }
}

}  // namespace

std::string unescape(std::string_view text) {
  std::string out;
  for (size_t pos = 0; pos < text.size();) {
    if (text[pos] != '\\') {
      out += text[pos++];
      continue;
    }
    if (++pos == text.size()) fail("this string ends inside an escape");
    char c = text[pos];
    if (char plain = simple_escape(c)) {
      out += plain;
      ++pos;
      continue;
    }
    char32_t code_point;
    if (c == '\n') {
      ++pos;
      continue;
    } else if (c >= '0' && c <= '7') {
      code_point = read_octal(text, pos);
    } else if (c == 'x' || c == 'u' || c == 'U') {
      code_point = read_hex(text, ++pos, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    } else if (c == 'N') {
      fail("named characters (\\N{{...}}) are outside the supported subset; write \\uXXXX");
    } else {
      keep_unknown_escape(out, text, pos);
      continue;
    }
    if (code_point > 0x10FFFF)
      fail("\\U{:08X} is not a Unicode character", static_cast<uint32_t>(code_point));
    if (code_point >= 0xD800 && code_point < 0xE000) {
      fail("\\u{:04X} is half of a surrogate pair; write \\UXXXXXXXX",
           static_cast<uint32_t>(code_point));
    }
    append_utf8(out, code_point);
  }
  return out;
}

}  // namespace ffpa_jit::codegen
