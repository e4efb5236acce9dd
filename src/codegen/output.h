// Output: text being generated, and (when line directives are wanted) where each piece of it came
// from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/heap.h"
#include "codegen/output_lines.h"
#include "codegen/source.h"
#include "codegen/value.h"

namespace ffpa_jit::codegen {

class Output {
 public:
  Output(Heap& heap, bool track_lines) : heap_(heap), track_lines_(track_lines) {}

  // Template text that begins in `line` of `source` and goes on line by line with it.
  void template_text(std::string_view text, const Source& source, uint32_t line);
  // The text of a value printed in `line`. Captured text (a macro's result) brings its own lines.
  void value_text(const String& value, const Source& source, uint32_t line);
  // Text that all belongs to one line.
  void plain_text(std::string_view text, const Source& source, uint32_t line);

  const std::string& text() const { return text_; }
  // The captured text as a value.
  const String* take();
  // The text with `#line` directives: one wherever a line does not follow from the one before it.
  std::string with_line_directives() const;

 private:
  struct Mark {
    size_t offset;
    LineOrigin origin;
    bool advances;  // later lines of this piece come from later lines of the source
  };

  void append(std::string_view text, LineOrigin origin, bool advances);
  // The origin of each line: that of its first visible character.
  LineOrigins line_origins() const;

  Heap& heap_;
  bool track_lines_;
  std::string text_;
  std::vector<Mark> marks_;
};

// `indent` and `trim` keep whole lines, so a captured text keeps its origins through them: `text`'s
// lines are `original`'s from line `first_line` on.
void keep_line_origins(Heap& heap, const String& original, const String& text, size_t first_line);

}  // namespace ffpa_jit::codegen
