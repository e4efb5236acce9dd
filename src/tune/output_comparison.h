// Whether two configs computed the same: their outputs differ by rounding, and nowhere by more.
// Called by workbenches.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "problem/dtype.h"

namespace ffpa_jit {

// Empty: `got` is `expected` but for rounding. Otherwise what differs, in words. Both hold elements
// of `dtype` (fp32, fp16, bf16) as one kernel and another wrote them; they are compared in pieces,
// so that one wrong tile is seen among many right ones.
std::string compare_outputs(std::span<const std::byte> expected, std::span<const std::byte> got,
                            DType dtype);

}  // namespace ffpa_jit
