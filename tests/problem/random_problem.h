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
  if (coin()) {
    struct Modifier {
      const char* text;
      ModifierTensors tensors;
    };
    static const Modifier kModifiers[] = {
        {"score*2.0", {}},
        {"score-exp2(-8.0*float(h+1)/float(nh))*float(q+nk-nq-k)", {}},
        {"t0[b,q]==t0[b,k]?score:-inf", {{{DType::kInt32, 2}}}},
        {"score+t1[h]*float(t3[b,h,q,k])", {{{}, {DType::kFp32, 1}, {}, {DType::kInt32, 4}}}},
    };
    const Modifier& modifier = kModifiers[between(0, 3)];
    p.score_modifier = modifier.text;
    p.modifier_tensors = modifier.tensors;
  }
  p.sinks = coin();
  p.seqlens_k = p.layout != Layout::kVarlen && coin();
  if (p.seqlens_k && coin()) p.page_size = between(1, 512);
  p.fp16_accumulate = p.dtype == DType::kFp16 && coin();
  p.lse = coin();
  return p;
}

}  // namespace ffpa_jit
