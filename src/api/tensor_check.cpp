#include "api/tensor_check.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace ffpa_jit::api {
namespace {

constexpr int64_t kLargestSpanBytes = int64_t{1} << 62;

std::span<const int64_t> sizes_of(const ffpa_jit_tensor& t) {
  return {t.sizes, static_cast<size_t>(t.rank)};
}

std::span<const int64_t> strides_of(const ffpa_jit_tensor& t) {
  return {t.strides, static_cast<size_t>(t.rank)};
}

bool is_empty(const ffpa_jit_tensor& t) {
  return std::ranges::any_of(sizes_of(t), [](int64_t size) { return size == 0; });
}

// Elements from the first to one past the last; the caller has ruled out overflow.
int64_t span_elements(const ffpa_jit_tensor& t) {
  if (is_empty(t)) return 0;
  int64_t last = 0;
  for (int i = 0; i < t.rank; ++i) last += (t.sizes[i] - 1) * t.strides[i];
  return last + 1;
}

// Dimensions from the innermost outwards: insertion sort by stride.
std::array<int, 4> by_stride(const ffpa_jit_tensor& t) {
  std::array<int, 4> order{0, 1, 2, 3};
  for (int i = 1; i < t.rank; ++i) {
    for (int j = i; j > 0 && t.strides[order[j]] < t.strides[order[j - 1]]; --j) {
      std::swap(order[j], order[j - 1]);
    }
  }
  return order;
}

// A tensor as equal runs of `width` bytes that begin at `data` plus multiples of `pitch` (0: one
// run).
struct Runs {
  int64_t width;
  int64_t pitch;
};

Runs runs_of(const ffpa_jit_tensor& t, size_t element_bytes) {
  int64_t width = 1, pitch = 0;  // in elements
  const std::array<int, 4> order = by_stride(t);
  for (int i = 0; i < t.rank; ++i) {
    const int64_t size = t.sizes[order[i]], stride = t.strides[order[i]];
    if (size == 1 || stride == 0) continue;
    if (pitch == 0 && stride == width) {
      width *= size;
    } else {
      pitch = std::gcd(pitch, stride);
    }
  }
  const auto bytes = static_cast<int64_t>(element_bytes);
  return {width * bytes, pitch * bytes};
}

}  // namespace

DType checked_dtype(const ffpa_jit_tensor& tensor, std::string_view name,
                    std::initializer_list<DType> allowed) {
  for (DType dtype : allowed) {
    if (static_cast<int32_t>(dtype) == tensor.dtype) return dtype;
  }
  std::vector<std::string_view> names;
  for (DType dtype : allowed) names.push_back(name_of(dtype));
  throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}.dtype is {}; allowed: {}", name, tensor.dtype,
              fmt::join(names, ", "));
}

void check_extent(const ffpa_jit_tensor& tensor, std::string_view name, int min_rank, int max_rank,
                  size_t element_bytes) {
  if (tensor.rank < min_rank || tensor.rank > max_rank) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}.rank is {}; allowed: {}", name, tensor.rank,
                min_rank == max_rank ? fmt::format("{}", min_rank)
                                     : fmt::format("{} to {}", min_rank, max_rank));
  }
  int64_t last = 0;
  for (int i = 0; i < tensor.rank; ++i) {
    const int64_t size = tensor.sizes[i], stride = tensor.strides[i];
    if (size < 0 || stride < 0) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT,
                  "{} has sizes [{}] and strides [{}]; none may be negative", name,
                  fmt::join(sizes_of(tensor), ", "), fmt::join(strides_of(tensor), ", "));
    }
    int64_t step = 0;
    if (size > 1 && (__builtin_mul_overflow(size - 1, stride, &step) ||
                     __builtin_add_overflow(last, step, &last))) {
      last = kLargestSpanBytes;
      break;
    }
  }
  if (last >= kLargestSpanBytes / static_cast<int64_t>(element_bytes)) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "{} has sizes [{}] and strides [{}]: it spans more than 2^62 bytes", name,
                fmt::join(sizes_of(tensor), ", "), fmt::join(strides_of(tensor), ", "));
  }
  if (reinterpret_cast<uintptr_t>(tensor.data) % element_bytes != 0) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "{}.data is {}; it must be a multiple of the element size, {} bytes", name,
                fmt::ptr(tensor.data), element_bytes);
  }
}

void check_unit_last_stride(const ffpa_jit_tensor& tensor, std::string_view name) {
  const int last = tensor.rank - 1;
  if (tensor.sizes[last] > 1 && tensor.strides[last] != 1) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "{} has last stride {}; it must be 1 (other dimensions may have any stride)", name,
                tensor.strides[last]);
  }
}

void check_no_self_overlap(const ffpa_jit_tensor& tensor, std::string_view name) {
  if (is_empty(tensor)) return;
  const std::array<int, 4> order = by_stride(tensor);
  int64_t extent = 1;  // elements covered by the dimensions so far
  for (int i = 0; i < tensor.rank; ++i) {
    const int64_t size = tensor.sizes[order[i]], stride = tensor.strides[order[i]];
    if (size == 1) continue;
    if (stride < extent) {
      throw_error(
          FFPA_JIT_INVALID_ARGUMENT,
          "{} has sizes [{}] and strides [{}]: two indices name the same element, and it is "
          "written; give every element its own place",
          name, fmt::join(sizes_of(tensor), ", "), fmt::join(strides_of(tensor), ", "));
    }
    extent += (size - 1) * stride;
  }
}

void check_disjoint(const ffpa_jit_tensor& written, std::string_view written_name,
                    size_t written_element_bytes, const ffpa_jit_tensor& read,
                    std::string_view read_name, size_t read_element_bytes) {
  if (!written.data || !read.data || is_empty(written) || is_empty(read)) return;
  const auto begin_of = [](const ffpa_jit_tensor& t) {
    return reinterpret_cast<uintptr_t>(t.data);
  };
  const uintptr_t written_end = begin_of(written) + span_elements(written) * written_element_bytes;
  const uintptr_t read_end = begin_of(read) + span_elements(read) * read_element_bytes;
  if (begin_of(written) >= read_end || begin_of(read) >= written_end) return;

  const Runs a = runs_of(written, written_element_bytes), b = runs_of(read, read_element_bytes);
  if (const int64_t pitch = std::gcd(a.pitch, b.pitch); pitch > 0) {
    // Both on a circle of `pitch` bytes: one run each.
    const auto place = [pitch](const ffpa_jit_tensor& t) {
      return static_cast<int64_t>(reinterpret_cast<uintptr_t>(t.data) %
                                  static_cast<uintptr_t>(pitch));
    };
    const int64_t a_begin = place(written), b_begin = place(read);
    const bool apart = (a_begin + a.width <= b_begin && b_begin + b.width <= a_begin + pitch) ||
                       (b_begin + b.width <= a_begin && a_begin + a.width <= b_begin + pitch);
    if (apart) return;
  }
  throw_error(
      FFPA_JIT_INVALID_ARGUMENT,
      "{} (at {}) overlaps {} (at {}); what is written must not share memory with what is read",
      written_name, fmt::ptr(written.data), read_name, fmt::ptr(read.data));
}

size_t span_bytes(const ffpa_jit_tensor& tensor, size_t element_bytes) {
  return static_cast<size_t>(span_elements(tensor)) * element_bytes;
}

void check_memory(const ffpa_jit_tensor& tensor, std::string_view name) {
  if (!tensor.data && !is_empty(tensor)) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}.data is NULL", name);
  }
}

}  // namespace ffpa_jit::api
