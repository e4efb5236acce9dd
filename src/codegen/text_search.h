// Pieces of Python's str that methods and filters share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/heap.h"
#include "codegen/value.h"

namespace ffpa_jit::codegen {

// text[start:end] as str.find and its kin take it.
struct SearchWindow {
  std::string_view text;
  size_t start = 0;   // code points before the window
  bool valid = true;  // false: start lies beyond end, where not even "" is found
};
SearchWindow search_window(const String& string, const Value& start, const Value& end);

std::string capitalized(std::string_view text);
std::string stripped(std::string_view text, std::string_view characters, bool left, bool right);
std::vector<std::string> split_on(std::string_view text, std::string_view separator, int64_t most,
                                  bool from_right);
std::vector<std::string> split_on_space(std::string_view text, int64_t most, bool from_right);
std::vector<std::string> split_lines(std::string_view text, bool keep_ends);
// `most` negative: all.
std::string replaced(Heap& heap, const std::string& text, const std::string& from,
                     const std::string& to, int64_t most);
// side: '<' left, '>' right, '^' centre (Python's rounding).
std::string justified(Heap& heap, const String& text, int64_t width, std::string_view fill,
                      char side);

}  // namespace ffpa_jit::codegen
