#include "codegen/text_search.h"

#include <algorithm>

#include "codegen/failure.h"
#include "codegen/operators.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {
namespace {

size_t byte_offset(std::string_view text, size_t code_points) {
  size_t offset = 0;
  for (size_t i = 0; i < code_points && offset < text.size(); ++i) next_code_point(text, offset);
  return offset;
}

}  // namespace

SearchWindow search_window(const String& string, const Value& start, const Value& end) {
  auto length = static_cast<int64_t>(string.length);
  auto bound = [&](const Value& value, int64_t absent) {
    if (value.missing() || value.is(Type::kNone)) return absent;
    int64_t i = to_integer(value, "a search bound");
    if (i < 0) i = std::max<int64_t>(0, i < -length ? 0 : i + length);
    return i;
  };
  int64_t from = bound(start, 0);
  int64_t to = std::min(bound(end, length), length);
  SearchWindow window;
  if (from > to) {
    window.valid = false;
    return window;
  }
  window.start = static_cast<size_t>(from);
  size_t begin = byte_offset(string.text, window.start);
  size_t stop =
      to == length ? string.text.size() : byte_offset(string.text, static_cast<size_t>(to));
  window.text = std::string_view(string.text).substr(begin, stop - begin);
  return window;
}

std::string capitalized(std::string_view text) {
  if (text.empty()) return {};
  size_t offset = 0;
  std::string out;
  append_title(out, next_code_point(text, offset));
  // Lower-case the whole text, so that a sigma sees what is before it; then drop the first
  // character's part.
  std::string first = to_lower(text.substr(0, offset));
  return out + to_lower(text).substr(first.size());
}

std::string stripped(std::string_view text, std::string_view characters, bool left, bool right) {
  std::u32string set = decode_utf8(characters);
  std::u32string wide = decode_utf8(text);
  auto in_set = [&](char32_t c) { return set.find(c) != std::u32string::npos; };
  size_t begin = 0, end = wide.size();
  while (left && begin < end && in_set(wide[begin])) ++begin;
  while (right && end > begin && in_set(wide[end - 1])) --end;
  return encode_utf8(std::u32string_view(wide).substr(begin, end - begin));
}

std::vector<std::string> split_on(std::string_view text, std::string_view separator, int64_t most,
                                  bool from_right) {
  std::vector<std::string> parts;
  for (; most != 0; --most) {
    size_t at = from_right ? text.rfind(separator) : text.find(separator);
    if (at == std::string_view::npos) break;
    std::string_view before = text.substr(0, at), after = text.substr(at + separator.size());
    parts.emplace_back(from_right ? after : before);
    text = from_right ? before : after;
  }
  parts.emplace_back(text);
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string> split_on_space(std::string_view text, int64_t most, bool from_right) {
  std::vector<std::string> parts;
  if (from_right) {
    std::u32string wide = decode_utf8(text);
    size_t end = wide.size();
    for (;; --most) {
      while (end > 0 && is_space(wide[end - 1])) --end;
      if (end == 0) break;
      size_t begin = most == 0 ? 0 : end;
      while (begin > 0 && !is_space(wide[begin - 1])) --begin;
      parts.push_back(encode_utf8(std::u32string_view(wide).substr(begin, end - begin)));
      if (most == 0) break;
      end = begin;
    }
    std::reverse(parts.begin(), parts.end());
    return parts;
  }
  for (size_t offset = 0;; --most) {
    offset = skip_space(text, offset);
    if (offset == text.size()) break;
    if (most == 0) {
      parts.emplace_back(text.substr(offset));
      break;
    }
    size_t end = offset;
    while (end < text.size()) {
      size_t next = end;
      if (is_space(next_code_point(text, next))) break;
      end = next;
    }
    parts.emplace_back(text.substr(offset, end - offset));
    offset = end;
  }
  return parts;
}

std::vector<std::string> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin, next = begin;
    while (end < text.size()) {
      char32_t c = next_code_point(text, next);
      if (is_line_boundary(c)) {
        if (c == '\r' && next < text.size() && text[next] == '\n') ++next;
        break;
      }
      end = next;
    }
    lines.emplace_back(text.substr(begin, (keep_ends ? next : end) - begin));
    begin = next;
  }
  return lines;
}

std::string replaced(Heap& heap, const std::string& text, const std::string& from,
                     const std::string& to, int64_t most) {
  std::string out;
  size_t at = 0;
  if (from.empty()) {
    // Between all characters.
    while (most != 0) {
      heap.charge_bytes(to.size());
      out += to;
      --most;
      if (at == text.size()) return out;
      size_t begin = at;
      next_code_point(text, at);
      out.append(text, begin, at - begin);
    }
    return out + text.substr(at);
  }
  for (; most != 0; --most) {
    size_t found = text.find(from, at);
    if (found == std::string::npos) break;
    heap.charge_bytes(found - at + to.size());
    out.append(text, at, found - at);
    out += to;
    at = found + from.size();
  }
  return out.append(text, at);
}

std::string justified(Heap& heap, const String& text, int64_t width, std::string_view fill,
                      char side) {
  auto length = static_cast<int64_t>(text.length);
  if (width <= length) return text.text;
  int64_t missing = width - length;
  if (missing > static_cast<int64_t>(heap.limits().memory_bytes)) heap.charge_bytes(SIZE_MAX);
  heap.charge_bytes(static_cast<size_t>(missing) * fill.size());
  int64_t left = side == '<' ? 0 : side == '>' ? missing : missing / 2 + (missing & width & 1);
  std::string out;
  for (int64_t i = 0; i < left; ++i) out += fill;
  out += text.text;
  for (int64_t i = left; i < missing; ++i) out += fill;
  return out;
}

}  // namespace ffpa_jit::codegen
