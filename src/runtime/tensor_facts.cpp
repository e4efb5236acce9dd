#include "runtime/tensor_facts.h"

#include <cstdint>

#include "kernel/mark_tensor.h"
#include "problem/dtype.h"

namespace ffpa_jit {
namespace {

constexpr uint64_t kTmaAlignment = 16;
constexpr int64_t kTmaStrideLimit = int64_t{1} << 40;  // bytes

bool marks_allow_tma(const AttentionCall& call) noexcept {
  const ForwardParams& p = call.params;
  const Problem& problem = call.problem;
  // Boxes of several heads, where a kv head has them.
  const auto by_head = [&](const BroadcastPattern& pattern) {
    return pattern.head && problem.gqa_group > 1;
  };
  const auto bias_bytes = static_cast<int64_t>(bytes_of(problem.bias_dtype));
  return (!problem.has_mask ||
          is_mark_tensor_for_tma(p.mask, p.mask_stride_batch, p.mask_stride_head, p.mask_stride_row,
                                 p.mask_stride_key, problem.mask_pattern.query,
                                 by_head(problem.mask_pattern), 1)) &&
         (!problem.has_bias ||
          is_mark_tensor_for_tma(p.bias, p.bias_stride_batch, p.bias_stride_head, p.bias_stride_row,
                                 p.bias_stride_key, problem.bias_pattern.query,
                                 by_head(problem.bias_pattern), bias_bytes));
}

}  // namespace

TensorFacts tensor_facts(const AttentionCall& call) noexcept {
  const ForwardParams& p = call.params;
  const auto bytes = static_cast<int64_t>(bytes_of(call.problem.dtype));
  uint64_t unaligned = reinterpret_cast<uintptr_t>(p.q) | reinterpret_cast<uintptr_t>(p.k) |
                       reinterpret_cast<uintptr_t>(p.v);
  bool in_range = true;
  const auto stride = [&](int64_t elements, int64_t size) {
    if (size <= 1) return;
    unaligned |= static_cast<uint64_t>(elements * bytes);
    in_range = in_range && elements > 0 && elements < kTmaStrideLimit / bytes;
  };
  const bool packed = call.problem.layout == Layout::kVarlen;
  const Shape& s = call.shape;
  stride(p.q_stride_row, packed ? s.total_q : s.seqlen_q);
  stride(p.k_stride_row, packed ? s.total_k : s.seqlen_k);
  stride(p.v_stride_row, packed ? s.total_k : s.seqlen_k);
  stride(p.q_stride_head, s.heads_q);
  stride(p.k_stride_head, s.heads_kv);
  stride(p.v_stride_head, s.heads_kv);
  if (!packed) {
    stride(p.q_stride_batch, s.batch);
    stride(p.k_stride_batch, s.batch);
    stride(p.v_stride_batch, s.batch);
  }
  return {.tma = in_range && unaligned % kTmaAlignment == 0, .marks_tma = marks_allow_tma(call)};
}

}  // namespace ffpa_jit
