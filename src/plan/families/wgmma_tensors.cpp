#include "plan/families/wgmma_tensors.h"

#include <algorithm>

#include "problem/dtype.h"

namespace ffpa_jit {
namespace {

constexpr int kRowsOfMarks = 64;

struct Strides {
  int64_t batch, head, row;  // elements
};

TensorMapSpec map_of(const Problem& problem, const void* address, const Strides& strides,
                     int64_t batch, int64_t heads, int64_t rows, int columns, int box_rows,
                     int box_columns) {
  const auto bytes = static_cast<int64_t>(bytes_of(problem.dtype));
  TensorMapSpec spec;
  spec.address = address;
  spec.element = problem.dtype == DType::kFp16 ? TensorElement::kFp16 : TensorElement::kBf16;
  spec.swizzle = box_columns == 64 ? TensorSwizzle::k128Bytes : TensorSwizzle::k64Bytes;
  spec.rank = 4;
  const int64_t sizes[] = {rows, heads, batch};
  const int64_t steps[] = {strides.row, strides.head, strides.batch};
  spec.sizes[0] = static_cast<uint64_t>(columns);
  // Of an empty tensor nothing is loaded that counts, but a size is at least 1. A stride over a
  // single entry may be any number in a caller's tensor; TMA looks at it.
  for (int i = 0; i < 3; ++i) {
    spec.sizes[i + 1] = static_cast<uint64_t>(std::max<int64_t>(sizes[i], 1));
    spec.strides[i] =
        static_cast<uint64_t>(sizes[i] > 1 ? steps[i] * bytes : (columns * bytes + 15) / 16 * 16);
  }
  spec.box = {static_cast<uint32_t>(box_columns), static_cast<uint32_t>(box_rows), 1, 1, 0};
  return spec;
}

struct MarkStrides {
  int64_t batch, head, row;  // elements
};

TensorMapSpec mark_map(const Shape& shape, const void* address, const MarkStrides& strides,
                       bool by_row, DType dtype, int box_keys) {
  const auto bytes = static_cast<int>(bytes_of(dtype));
  TensorMapSpec spec;
  spec.address = address;
  spec.element = dtype == DType::kBool   ? TensorElement::kUint8
                 : dtype == DType::kFp32 ? TensorElement::kFp32
                 : dtype == DType::kFp16 ? TensorElement::kFp16
                                         : TensorElement::kBf16;
  const int width = box_keys * bytes;
  spec.swizzle = !by_row        ? TensorSwizzle::kNone
                 : width == 128 ? TensorSwizzle::k128Bytes
                 : width == 64  ? TensorSwizzle::k64Bytes
                 : width == 32  ? TensorSwizzle::k32Bytes
                                : TensorSwizzle::kNone;
  spec.rank = 4;
  const int64_t sizes[] = {shape.seqlen_q, shape.heads_q, shape.batch};
  const int64_t steps[] = {strides.row, strides.head, strides.batch};
  spec.sizes[0] = static_cast<uint64_t>(std::max<int64_t>(shape.seqlen_k, 1));
  for (int i = 0; i < 3; ++i) {
    const bool full = steps[i] != 0 && sizes[i] > 1;
    spec.sizes[i + 1] = static_cast<uint64_t>(full ? sizes[i] : 1);
    spec.strides[i] = static_cast<uint64_t>(full ? steps[i] * bytes : 16);
  }
  spec.box = {static_cast<uint32_t>(box_keys), by_row ? uint32_t{kRowsOfMarks} : 1, 1, 1, 0};
  return spec;
}

}  // namespace

TensorMapSpec q_tensor_map(const Problem& problem, const ForwardParams& p, const Shape& s,
                           int box_rows, int box_columns) {
  const bool packed = problem.layout == Layout::kVarlen;
  return map_of(problem, p.q, {p.q_stride_batch, p.q_stride_head, p.q_stride_row},
                packed ? 1 : s.batch, s.heads_q, packed ? s.total_q : s.seqlen_q, problem.head_dim,
                box_rows, box_columns);
}

TensorMapSpec k_tensor_map(const Problem& problem, const ForwardParams& p, const Shape& s,
                           int box_rows, int box_columns) {
  const bool packed = problem.layout == Layout::kVarlen;
  return map_of(problem, s.seqlen_k > 0 ? p.k : p.q,
                {p.k_stride_batch, p.k_stride_head, p.k_stride_row}, packed ? 1 : s.batch,
                s.heads_kv, packed ? s.total_k : s.seqlen_k, problem.head_dim, box_rows,
                box_columns);
}

TensorMapSpec v_tensor_map(const Problem& problem, const ForwardParams& p, const Shape& s,
                           int box_rows, int box_columns) {
  const bool packed = problem.layout == Layout::kVarlen;
  return map_of(problem, s.seqlen_k > 0 ? p.v : p.q,
                {p.v_stride_batch, p.v_stride_head, p.v_stride_row}, packed ? 1 : s.batch,
                s.heads_kv, packed ? s.total_k : s.seqlen_k, problem.head_dim_v, box_rows,
                box_columns);
}

TensorMapSpec mask_tensor_map(const Problem& problem, const ForwardParams& p, const Shape& s,
                              int box_keys) {
  return mark_map(s, p.mask, {p.mask_stride_batch, p.mask_stride_head, p.mask_stride_row},
                  problem.mask_pattern.query, DType::kBool, box_keys);
}

TensorMapSpec bias_tensor_map(const Problem& problem, const ForwardParams& p, const Shape& s,
                              int box_keys) {
  return mark_map(s, p.bias, {p.bias_stride_batch, p.bias_stride_head, p.bias_stride_row},
                  problem.bias_pattern.query, problem.bias_dtype, box_keys);
}

}  // namespace ffpa_jit
