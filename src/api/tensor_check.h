// Checks of one tensor argument, before anything reads its memory: type, rank, sizes, strides,
// alignment, overlap.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "ffpa_jit/ffpa_jit.h"
#include "problem/dtype.h"

namespace ffpa_jit::api {

inline bool is_present(const ffpa_jit_tensor& tensor) {
  return tensor.data != nullptr || tensor.rank != 0;
}

// Converts and checks the element type. Throws INVALID_ARGUMENT listing `allowed`.
DType checked_dtype(const ffpa_jit_tensor& tensor, std::string_view name,
                    std::initializer_list<DType> allowed);

// Sizes and strides not negative, rank within [min_rank, max_rank], the byte span below 2^62,
// `data` aligned to the element. `data` may be NULL (a prepared call has no memory yet); a launch
// checks that with checked_memory().
void check_extent(const ffpa_jit_tensor& tensor, std::string_view name, int min_rank, int max_rank,
                  size_t element_bytes);

// The last stride must be 1 (a last dimension of size 0 or 1 may have any).
void check_unit_last_stride(const ffpa_jit_tensor& tensor, std::string_view name);

// No two index tuples may name the same element: required of what is written.
void check_no_self_overlap(const ffpa_jit_tensor& tensor, std::string_view name);

// Throws when `written` shares elements with `read`. Interleaved tensors (slices of one fused
// buffer with a common row pitch) are told apart from overlapping ones.
void check_disjoint(const ffpa_jit_tensor& written, std::string_view written_name,
                    size_t written_element_bytes, const ffpa_jit_tensor& read,
                    std::string_view read_name, size_t read_element_bytes);

// Bytes from the first element to the end of the last; 0 for an empty tensor. check_extent() has
// passed.
size_t span_bytes(const ffpa_jit_tensor& tensor, size_t element_bytes);

// `data` must not be NULL unless some size is 0.
void check_memory(const ffpa_jit_tensor& tensor, std::string_view name);

}  // namespace ffpa_jit::api
