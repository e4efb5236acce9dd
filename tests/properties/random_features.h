// RandomFeatures: a RandomProblem with what RandomProblem does not draw: a score modifier with
// tensors, sinks, each sequence's own number of keys, K and V in pages. Made from the same seed.
//
// Traps: pages lie in random order in a pool larger than needed; rows that belong to no sequence,
// and keys past a sequence's length, hold NaN; entries of the block table past a sequence's length
// are wild; sinks may be -inf; modifiers hide keys.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "properties/random_problem.h"

namespace ffpa_jit::properties {

class RandomFeatures {
 public:
  struct Wanted {
    bool modifier = false, sinks = false, seqlens_k = false, pages = false;
    int smallest_page = 1;  // pages are then powers of two
  };

  explicit RandomFeatures(uint64_t seed);  // some, at random
  RandomFeatures(uint64_t seed, const Wanted& wanted);
  RandomFeatures(const RandomFeatures&) = delete;
  RandomFeatures& operator=(const RandomFeatures&) = delete;

  const ffpa_jit_attention_args& args() const { return args_; }
  const std::string& text() const { return text_; }
  bool output_gaps_untouched() const { return problem_.output_gaps_untouched(); }

 private:
  int64_t pick(int64_t low, int64_t high);  // both inclusive
  float normal();
  void draw_modifier();
  void draw_sinks();
  void draw_lengths();
  void draw_pages(int smallest);
  void hide_keys_past_lengths();
  ffpa_jit_tensor make_tensor(int32_t dtype, const std::vector<int64_t>& sizes);
  void move_into_pages(ffpa_jit_tensor& tensor, int64_t page_size, int64_t num_pages);

  RandomProblem problem_;
  std::mt19937_64 random_;
  ffpa_jit_attention_args args_;
  std::string text_;
  int64_t batch_ = 0, heads_ = 0, seqlen_q_ = 0, seqlen_k_ = 0;
  std::vector<int32_t> lengths_, table_;
  std::vector<std::unique_ptr<uint64_t[]>> memory_;
  std::string modifier_;
};

}  // namespace ffpa_jit::properties
