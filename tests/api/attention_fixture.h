// A small valid CPU call that tests break one field at a time.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "api/temporary_directory.h"
#include "ffpa_jit/ffpa_jit.hpp"

namespace ffpa_jit::testing {

using test::TemporaryDirectory;

// fp32 [B, H, N, D] tensors with deterministic values; the output starts as NaN.
struct SmallCall {
  static constexpr int64_t kBatch = 2, kHeads = 4, kHeadsKv = 2, kRows = 5, kKeys = 7, kDim = 8;

  SmallCall()
      : q(kBatch * kHeads * kRows * kDim),
        k(kBatch * kHeadsKv * kKeys * kDim),
        v(k.size()),
        o(q.size(), std::numeric_limits<float>::quiet_NaN()),
        lse(kBatch * kHeads * kRows, std::numeric_limits<float>::quiet_NaN()) {
    for (size_t i = 0; i < q.size(); ++i) q[i] = std::sin(0.7f * static_cast<float>(i));
    for (size_t i = 0; i < k.size(); ++i) k[i] = std::cos(0.3f * static_cast<float>(i));
    for (size_t i = 0; i < v.size(); ++i) v[i] = std::sin(0.2f * static_cast<float>(i) + 1);
    args.q = ffpa::tensor(q.data(), FFPA_JIT_FP32, {kBatch, kHeads, kRows, kDim});
    args.k = ffpa::tensor(k.data(), FFPA_JIT_FP32, {kBatch, kHeadsKv, kKeys, kDim});
    args.v = ffpa::tensor(v.data(), FFPA_JIT_FP32, {kBatch, kHeadsKv, kKeys, kDim});
    args.o = ffpa::tensor(o.data(), FFPA_JIT_FP32, {kBatch, kHeads, kRows, kDim});
    args.lse = ffpa::tensor(lse.data(), FFPA_JIT_FP32, {kBatch, kHeads, kRows});
  }

  std::vector<float> q, k, v, o, lse;
  ffpa::Attention args;
};

}  // namespace ffpa_jit::testing
