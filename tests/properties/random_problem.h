// RandomProblem: a small attention call with random features, made from a seed. Called by the
// property tests of the runtime and by the portable kernel's own test.
//
// Everything the C ABI allows on the CPU is drawn: dtypes, layouts, padded strides, GQA, head dims
// that are no multiple of anything, causal, windows, masks and biases in every broadcast pattern,
// dropout, softcap, scales, LSE. Traps: memory between rows holds NaN, keys that no row sees hold
// NaN or infinity, O and LSE start as NaN, biases may hold -inf or the lowest finite value.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ffpa_jit/ffpa_jit.h"

namespace ffpa_jit::properties {

class RandomProblem {
 public:
  explicit RandomProblem(uint64_t seed);
  RandomProblem(const RandomProblem&) = delete;
  RandomProblem& operator=(const RandomProblem&) = delete;

  const ffpa_jit_attention_args& args() const { return args_; }
  // "seed=7 bf16 bnhd b=2 hq=4 hkv=2 ...": enough to understand a failure; the seed is enough to
  // repeat it.
  const std::string& text() const { return text_; }
  // Fills O and LSE with NaN, to run the same problem again.
  void poison_output();
  // False when something was written between the rows of O or LSE.
  bool output_gaps_untouched() const;

 private:
  struct Buffer {
    std::vector<uint64_t> words;  // 8-byte aligned memory
    std::vector<bool> used;       // elements that belong to the tensor
    int32_t dtype = 0;

    void* data() { return words.data(); }
    const void* data() const { return words.data(); }
  };

  int64_t pick(int64_t low, int64_t high);  // both inclusive
  bool chance(double probability);
  float normal();

  void draw_sizes();
  void draw_activations();
  int64_t padded_row(int64_t elements, int64_t bytes) const;
  void draw_mask();
  void draw_bias();
  void draw_scalars();
  void poison_hidden_keys();
  void describe(uint64_t seed);

  // Sizes in layout order; random gaps between rows, filled with NaN; random contents times
  // `magnitude`.
  ffpa_jit_tensor make_tensor(const std::vector<int64_t>& sizes, int32_t dtype, float magnitude,
                              Buffer& buffer);
  std::vector<int64_t> activation_sizes(int64_t heads, int64_t rows, int64_t total,
                                        int64_t head_dim) const;
  std::vector<int64_t> broadcast_sizes();

  std::mt19937_64 random_;
  ffpa_jit_attention_args args_ = FFPA_JIT_ATTENTION_ARGS_INIT;
  std::string text_;
  int64_t batch_ = 0, heads_q_ = 0, heads_kv_ = 0, seqlen_q_ = 0, seqlen_k_ = 0, head_dim_ = 0,
          head_dim_v_ = 0;
  int64_t total_q_ = 0, total_k_ = 0;
  std::vector<int32_t> cu_seqlens_q_, cu_seqlens_k_;
  Buffer q_, k_, v_, o_, lse_, bias_;
  std::vector<uint8_t> mask_;
  bool hidden_keys_poisoned_ = false;
};

}  // namespace ffpa_jit::properties
