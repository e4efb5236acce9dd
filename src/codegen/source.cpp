#include "codegen/source.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/failure.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {
namespace {

std::string normalise_newlines(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') {
      out += '\n';
      if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

Source::Source(std::string name, std::string_view text) : name_(std::move(name)) {
  path_ = name_.starts_with('<') ? name_ : "templates/" + name_;
  size_t bad = find_invalid_utf8(text);
  if (bad != std::string_view::npos) fail("{}: not UTF-8 text (byte {})", path_, bad);
  text_ = normalise_newlines(text);
  line_starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(static_cast<uint32_t>(i + 1));
  }
}

uint32_t Source::line_of(size_t offset) const {
  auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  return static_cast<uint32_t>(after - line_starts_.begin());
}

uint32_t Source::column_of(size_t offset) const {
  offset = std::min(offset, text_.size());
  size_t start = line_starts_[line_of(offset) - 1];
  return static_cast<uint32_t>(
      count_code_points(std::string_view(text_).substr(start, offset - start)) + 1);
}

std::string_view Source::line_text(uint32_t line) const {
  size_t start = line_starts_[line - 1];
  size_t end = line < line_starts_.size() ? line_starts_[line] - 1 : text_.size();
  return std::string_view(text_).substr(start, end - start);
}

std::string describe_error(const Source& source, size_t offset, std::string_view message) {
  constexpr size_t kLongestShown = 200;  // bytes of a source line worth showing
  uint32_t line = source.line_of(offset);
  uint32_t column = source.column_of(offset);
  std::string head = fmt::format("{}:{}:{}: {}", source.path(), line, column, message);
  std::string_view text = source.line_text(line);
  if (text.size() > kLongestShown) return head;
  std::string caret;
  size_t at = 0;
  for (uint32_t i = 1; i < column && at < text.size(); ++i) {
    caret += next_code_point(text, at) == '\t' ? '\t' : ' ';
  }
  return fmt::format("{}\n  {}\n  {}^", head, text, caret);
}

}  // namespace ffpa_jit::codegen
