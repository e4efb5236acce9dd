// Random valid problems: every option, every pattern, head dims over the whole range.
#pragma once

#include <random>

#include "problem/problem.h"

namespace ffpa_jit {

inline BroadcastPattern random_pattern(std::mt19937_64& random) {
  return {(random() & 1) != 0, (random() & 1) != 0, (random() & 1) != 0, (random() & 1) != 0};
}

inline Problem random_problem(std::mt19937_64& random) {
  const auto coin = [&] { return (random() & 1) != 0; };
  const auto between = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  constexpr DType kDTypes[] = {DType::kFp32, DType::kFp16, DType::kBf16};
  constexpr Layout kLayouts[] = {Layout::kBhnd, Layout::kBnhd, Layout::kVarlen};

  Problem p;
  p.dtype = kDTypes[between(0, 2)];
  p.head_dim = between(1, kMaxHeadDim);
  p.head_dim_v = coin() ? p.head_dim : between(1, kMaxHeadDim);
  p.gqa_group = coin() ? 1 : between(1, 64);
  p.layout = kLayouts[between(0, 2)];
  p.causal = coin();
  p.window_left = coin();
  p.window_right = p.causal || coin();
  p.has_mask = coin();
  if (p.has_mask) p.mask_pattern = random_pattern(random);
  p.has_bias = coin();
  if (p.has_bias) {
    p.bias_pattern = random_pattern(random);
    p.bias_dtype = coin() ? DType::kFp32 : p.dtype;
  }
  p.dropout = coin();
  p.softcap = coin();
  p.lse = coin();
  return p;
}

}  // namespace ffpa_jit
