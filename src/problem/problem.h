// Problem: the compile-time facts of one attention call. Two calls with equal Problems may run the
// same kernel. Shape: the run-time sizes. Both are plain values with == and one canonical text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "problem/dtype.h"

namespace ffpa_jit {

enum class Direction : uint8_t { kForward };
enum class Layout : uint8_t { kBhnd, kBnhd, kVarlen };

std::string_view name_of(Direction direction);  // "forward"
std::string_view name_of(Layout layout);        // "bhnd", "bnhd", "varlen"
std::optional<Direction> direction_of(std::string_view name);
std::optional<Layout> layout_of(std::string_view name);

// Which of a mask's four dimensions are full; a dimension that is not is broadcast (stride 0).
struct BroadcastPattern {
  bool batch = true, head = true, query = true, key = true;
  bool operator==(const BroadcastPattern&) const = default;
};

// "bhqk" with 1 in place of a broadcast dimension, e.g. "11qk".
std::string text_of(const BroadcastPattern& pattern);
BroadcastPattern parse_pattern(std::string_view text);  // throws Error INVALID_ARGUMENT

inline constexpr int kMaxHeadDim = 2048;
inline constexpr int kMaxGqaGroup = 1 << 20;

inline constexpr int kMaxPageSize = 1 << 20;
inline constexpr int kMaxModifierTensors = 4;

// What a kernel knows of a tensor that its score modifier reads.
struct ModifierTensor {
  DType dtype = DType::kFp32;  // or kInt32
  int rank = 0;                // 1 to 4; 0: not read
  bool operator==(const ModifierTensor&) const = default;
};
using ModifierTensors = std::array<ModifierTensor, kMaxModifierTensors>;

struct Problem {
  Direction direction = Direction::kForward;
  DType dtype = DType::kBf16;
  int head_dim = 64;    // of Q and K
  int head_dim_v = 64;  // of V and O
  int gqa_group = 1;    // query heads per key/value head
  Layout layout = Layout::kBhnd;
  bool causal = false;        // window_right == 0, tail-aligned
  bool window_left = false;   // a finite left window exists (its length is a run-time argument)
  bool window_right = false;  // a finite right window exists; true when causal
  bool has_mask = false;      // boolean mask
  BroadcastPattern mask_pattern;
  bool has_bias = false;  // additive bias
  DType bias_dtype = DType::kFp32;
  BroadcastPattern bias_pattern;
  bool dropout = false;
  bool softcap = false;
  std::string score_modifier;  // canonical text (problem/modifier/parse.h); empty: none
  ModifierTensors modifier_tensors{};
  bool sinks = false;            // a virtual key per query head
  bool seqlens_k = false;        // each sequence has its own number of keys
  int page_size = 0;             // keys per page of K and V; 0: not paged
  bool fp16_accumulate = false;  // a permission, not a demand
  bool lse = false;              // LSE is wanted

  bool operator==(const Problem&) const = default;
};

// Throws Error INVALID_ARGUMENT naming the field, what was asked, what is allowed.
void validate(const Problem& problem);

// One line, the same for equal problems and different for different ones, e.g.
// "forward bf16 d=512 dv=512 group=4 layout=bhnd causal lse". parse_problem(text_of(p)) == p.
std::string text_of(const Problem& problem);
Problem parse_problem(std::string_view text);  // throws Error INVALID_ARGUMENT

struct Shape {
  int64_t batch = 1;
  int64_t heads_q = 1;
  int64_t heads_kv = 1;
  int64_t seqlen_q = 0;  // varlen: the caller's upper bound
  int64_t seqlen_k = 0;
  int64_t total_q = 0;  // varlen: packed tokens; dense: batch * seqlen_q
  int64_t total_k = 0;

  bool operator==(const Shape&) const = default;
};

// As above, for sizes that do not fit the problem: negative, too large, heads that do not match
// gqa_group, causal with fewer keys than queries.
void validate(const Problem& problem, const Shape& shape);
std::string text_of(
    const Shape& shape);  // "b=1 hq=32 hkv=8 nq=8192 nk=8192", varlen adds "tq= tk="

}  // namespace ffpa_jit
