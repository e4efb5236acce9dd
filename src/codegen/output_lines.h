// Where each line of generated text came from, so that `#line` directives can say it.
#pragma once

#include <cstdint>
#include <vector>

namespace ffpa_jit::codegen {

class Source;

struct LineOrigin {
  const Source* source = nullptr;
  uint32_t line = 0;  // 1-based

  bool operator==(const LineOrigin&) const = default;
};

using LineOrigins = std::vector<LineOrigin>;

}  // namespace ffpa_jit::codegen
