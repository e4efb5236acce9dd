// Whether the tensor memory accelerator can read a mask or a bias. Asked when a call is routed, and
// promised to the families that load masks by TMA.
#pragma once

#include <cstdint>

namespace ffpa_jit {

// Strides in elements, 0 where one entry stands for all of a dimension; `by_row`, `by_head`: not so
// for rows, for heads.
inline bool is_mark_tensor_for_tma(const void* tensor, int64_t stride_batch, int64_t stride_head,
                                   int64_t stride_row, int64_t stride_key, bool by_row,
                                   bool by_head, int64_t element_bytes) noexcept {
  constexpr int64_t kStrideLimit = int64_t{1} << 37;  // elements: bytes are below 2^40
  const int64_t all = stride_batch | stride_head | stride_row;
  const uint64_t unaligned =
      reinterpret_cast<uintptr_t>(tensor) | static_cast<uint64_t>(all * element_bytes);
  return stride_key == 1 && unaligned % 16 == 0 && all >= 0 && all < kStrideLimit &&
         (!by_row || stride_row > 0) && (!by_head || stride_head > 0);
}

}  // namespace ffpa_jit
