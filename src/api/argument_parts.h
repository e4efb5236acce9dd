// The parts of an attention call's arguments, each read and checked in a file of its own. Called by
// checked_call() only, in the order below: later parts rely on the sizes that earlier ones read.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "api/attention_args.h"
#include "base/error.h"

namespace ffpa_jit::api {

// Q, K, V, O: types, extents, and the sizes they must share.
void read_tensors(const ffpa_jit_attention_args& args, AttentionCall& call);
// cu_seqlens and maximum lengths of packed sequences; checks that others have none.
void read_varlen(const ffpa_jit_attention_args& args, Purpose purpose, AttentionCall& call);
// seqlens_k and block_table; checks that other layouts have none.
void read_key_lengths(const ffpa_jit_attention_args& args, Purpose purpose, AttentionCall& call);
// Boolean mask and additive bias.
void read_masks(const ffpa_jit_attention_args& args, AttentionCall& call);
// The score modifier's text and tensors.
void read_modifier(const ffpa_jit_attention_args& args, AttentionCall& call);
void read_sinks(const ffpa_jit_attention_args& args, AttentionCall& call);
void read_lse(const ffpa_jit_attention_args& args, AttentionCall& call);

// The tensors of a score modifier by the names that its text has for them.
inline constexpr std::array<std::string_view, FFPA_JIT_MAX_MODIFIER_TENSORS> kModifierTensorNames{
    "modifier_tensors[0]", "modifier_tensors[1]", "modifier_tensors[2]", "modifier_tensors[3]"};

inline constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

// Positions of the four logical dimensions [batch, head, row, column] in a tensor of this layout;
// -1: absent.
struct Axes {
  int batch, head, row, column;
};

constexpr Axes axes_of(Layout layout) {
  switch (layout) {
    case Layout::kBhnd:
      return {0, 1, 2, 3};
    case Layout::kBnhd:
      return {0, 2, 1, 3};
    case Layout::kVarlen:
      return {-1, 1, 0, 2};
  }
  return {0, 1, 2, 3};
}

inline int64_t size_at(const ffpa_jit_tensor& t, int axis) { return axis < 0 ? 1 : t.sizes[axis]; }

// A dimension of size 1 is never stepped along: its stride is read as 0, so that any value is
// accepted.
inline int64_t stride_at(const ffpa_jit_tensor& t, int axis) {
  return axis < 0 || t.sizes[axis] <= 1 ? 0 : t.strides[axis];
}

inline void require_equal(int64_t got, int64_t want, std::string_view what,
                          std::string_view because) {
  if (got == want) return;
  throw_error(FFPA_JIT_INVALID_ARGUMENT, "{} is {}; it must be {} ({})", what, got, want, because);
}

inline int64_t int32_size(int64_t size, std::string_view what) {
  if (size < 0 || size > kInt32Max) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{} is {}; allowed: 0 to {}", what, size, kInt32Max);
  }
  return size;
}

}  // namespace ffpa_jit::api
