// One attention problem with random tensors in host memory, as C ABI arguments; the fp64 reference
// judges it.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ffpa_jit/ffpa_jit.h"

namespace ffpa_jit::testing {

// Sizes and features. Windows are negative when unlimited; patterns are "bhqk" with 1 for a
// broadcast dimension, empty for no mask or bias.
struct CaseSpec {
  ffpa_jit_dtype dtype = FFPA_JIT_FP32;
  int64_t batch = 1, heads = 2, heads_kv = 2, nq = 33, nk = 65, d = 32, dv = 32;
  ffpa_jit_layout layout = FFPA_JIT_BHND;
  bool causal = false;
  int64_t window_left = -1, window_right = -1;
  std::string mask = {}, bias = {};
  ffpa_jit_dtype bias_dtype = FFPA_JIT_FP32;
  double dropout = 0, softcap = 0;
  bool lse = true;
  bool philox_from_memory = false;
  int64_t row_padding = 0;         // extra elements between rows: odd numbers defeat vector loads
  bool mask_rows_aligned = false;  // masks and biases: rows begin at multiples of 16 bytes
  bool poison_hidden = false;      // NaN in K and V of every key that the mask hides from all rows
  float q_scale = 1;               // 8: large logits
  std::vector<int> lengths_q = {}, lengths_k = {};  // varlen
};

class AttentionCase {
 public:
  AttentionCase(const CaseSpec& spec, uint64_t seed);

  const ffpa_jit_attention_args& args() const { return args_; }
  size_t outputs() const { return outputs_; }
  // Makes the output NaN again.
  void poison_output();

 private:
  ffpa_jit_tensor activation(int64_t heads, int64_t rows, int64_t columns, float scale);
  ffpa_jit_tensor mask_like(const std::string& pattern, ffpa_jit_dtype dtype);
  std::vector<unsigned char>& memory(size_t bytes);

  CaseSpec spec_;
  std::mt19937_64 random_;
  std::vector<std::vector<unsigned char>> memory_;
  ffpa_jit_attention_args args_ = FFPA_JIT_ATTENTION_ARGS_INIT;
  size_t outputs_ = 0;
};

}  // namespace ffpa_jit::testing
