// Source: one template's text as the lexer sees it (line ends are '\n'), and offsets in it as line
// and column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ffpa_jit::codegen {

class Source {
 public:
  // Throws Failure when the text is not UTF-8.
  Source(std::string name, std::string_view text);

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  // What messages and #line call it: "templates/cpu/x.cpp.j2"; a text that is no file ("<string>")
  // keeps its name.
  const std::string& path() const { return path_; }

  uint32_t line_of(size_t offset) const;    // 1-based
  uint32_t column_of(size_t offset) const;  // 1-based, in code points
  std::string_view line_text(uint32_t line) const;

 private:
  std::string name_;
  std::string path_;
  std::string text_;
  std::vector<uint32_t> line_starts_;
};

// "templates/x.j2:LINE:COL: message", the source line, a caret under the column.
std::string describe_error(const Source& source, size_t offset, std::string_view message);

}  // namespace ffpa_jit::codegen
