#include "codegen/output.h"

#include <algorithm>

#include "codegen/failure.h"

namespace ffpa_jit::codegen {
namespace {

struct OwnedOrigins : Object {
  LineOrigins lines;
};

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos;
}

std::string line_directive(const LineOrigin& origin) {
  std::string name;
  for (char c : origin.source->path()) {
    if (c == '"' || c == '\\') name += '\\';
    name += c == '\n' ? ' ' : c;
  }
  return fmt::format("#line {} \"{}\"\n", origin.line, name);
}

}  // namespace

void Output::append(std::string_view text, LineOrigin origin, bool advances) {
  if (text.empty()) return;
  if (text_.size() + text.size() > heap_.limits().output_bytes) {
    fail("more than {} bytes of output", heap_.limits().output_bytes);
  }
  if (track_lines_) {
    heap_.charge_bytes(sizeof(Mark));
    marks_.push_back({text_.size(), origin, advances});
  }
  text_ += text;
}

void Output::template_text(std::string_view text, const Source& source, uint32_t line) {
  append(text, {&source, line}, true);
}

void Output::plain_text(std::string_view text, const Source& source, uint32_t line) {
  append(text, {&source, line}, false);
}

void Output::value_text(const String& value, const Source& source, uint32_t line) {
  if (!track_lines_ || !value.lines) return append(value.text, {&source, line}, false);
  std::string_view rest = value.text;
  for (size_t i = 0; !rest.empty(); ++i) {
    size_t newline = rest.find('\n');
    std::string_view piece =
        rest.substr(0, newline == std::string_view::npos ? newline : newline + 1);
    append(piece, (*value.lines)[std::min(i, value.lines->size() - 1)], false);
    rest.remove_prefix(piece.size());
  }
}

const String* Output::take() {
  heap_.charge_bytes(text_.size());
  LineOrigins origins = track_lines_ ? line_origins() : LineOrigins();
  String* string = heap_.make<String>(std::move(text_), false);
  if (!origins.empty()) {
    heap_.charge_bytes(origins.size() * sizeof(LineOrigin));
    auto* owned = heap_.make<OwnedOrigins>();
    owned->lines = std::move(origins);
    string->lines = &owned->lines;
  }
  return string;
}

LineOrigins Output::line_origins() const {
  LineOrigins result;
  if (marks_.empty()) return result;
  size_t mark = 0;
  size_t counted_to = 0;  // offset up to which newlines of the current mark are counted
  uint32_t newlines = 0;
  for (size_t begin = 0; begin <= text_.size();) {
    size_t end = std::min(text_.find('\n', begin), text_.size());
    size_t visible = text_.find_first_not_of(" \t", begin);
    size_t at = std::min(visible < end ? visible : begin, text_.size() - 1);
    while (mark + 1 < marks_.size() && marks_[mark + 1].offset <= at) {
      ++mark;
      counted_to = marks_[mark].offset;
      newlines = 0;
    }
    for (; counted_to < at; ++counted_to) newlines += text_[counted_to] == '\n';
    LineOrigin origin = marks_[mark].origin;
    if (marks_[mark].advances) origin.line += newlines;
    result.push_back(origin);
    begin = end + 1;
  }
  return result;
}

std::string Output::with_line_directives() const {
  LineOrigins origins = line_origins();
  std::string out;
  LineOrigin expected;
  size_t i = 0;
  bool continued = false;  // the line before ends with a backslash: nothing may come between
  for (size_t begin = 0; begin < text_.size(); ++i) {
    size_t end = std::min(text_.find('\n', begin), text_.size() - 1) + 1;
    std::string_view line = std::string_view(text_).substr(begin, end - begin);
    std::string_view content = line.substr(0, line.size() - (line.back() == '\n'));
    if (i == 0 || (!continued && !is_blank(content) && origins[i] != expected)) {
      out += line_directive(origins[i]);
      expected = origins[i];
    }
    out += line;
    ++expected.line;
    continued = content.ends_with('\\');
    begin = end;
  }
  return out;
}

void keep_line_origins(Heap& heap, const String& original, const String& text, size_t first_line) {
  if (!original.lines || first_line >= original.lines->size()) return;
  auto* owned = heap.make<OwnedOrigins>();
  heap.charge_bytes(original.lines->size() * sizeof(LineOrigin));
  owned->lines.assign(original.lines->begin() + static_cast<std::ptrdiff_t>(first_line),
                      original.lines->end());
  const_cast<String&>(text).lines = &owned->lines;
}

}  // namespace ffpa_jit::codegen
