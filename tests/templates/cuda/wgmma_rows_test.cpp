// The wgmma family's schedule for head dims up to 352 through the C ABI on an emulated sm_90,
// against the fp64 reference: the named cases. Random ones run in tests/emulator. Every access,
// copy and barrier of the kernels is checked on the way.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "ffpa_jit/ffpa_jit.h"
#include "reference/attention_reference.h"
#include "reference/comparison.h"
#include "templates/cuda/attention_case.h"
#include "templates/cuda/emulated_hopper.h"

namespace ffpa_jit::testing {
namespace {

class WgmmaRows : public EmulatedHopper {};

TEST_F(WgmmaRows, SizesAroundTheTiles) {
  for (int64_t nq : {8, 63, 191, 193}) {
    for (int64_t nk : {1, 127, 128, 129, 260}) {
      expect_right({.nq = nq, .nk = nk, .d = 64, .dv = 64}, nq * 1000 + nk);
    }
  }
}

TEST_F(WgmmaRows, HeadDims) {
  for (int64_t d : {8, 24, 72, 96, 136, 192, 200, 256, 264, 320, 336, 352}) {
    expect_right(
        {.dtype = FFPA_JIT_FP16, .heads = 1, .heads_kv = 1, .nq = 70, .nk = 150, .d = d, .dv = d},
        d);
  }
  expect_right({.heads = 1, .heads_kv = 1, .nq = 70, .nk = 150, .d = 192, .dv = 128}, 1);
  expect_right({.heads = 1, .heads_kv = 1, .nq = 70, .nk = 150, .d = 40, .dv = 248}, 2);
  expect_right({.heads = 1, .heads_kv = 1, .nq = 70, .nk = 150, .d = 320, .dv = 72}, 3);
  expect_right({.heads = 1, .heads_kv = 1, .nq = 70, .nk = 150, .d = 72, .dv = 312}, 4);
}

TEST_F(WgmmaRows, CausalWindowsAndLayouts) {
  expect_right({.batch = 2,
                .heads = 6,
                .heads_kv = 2,
                .nq = 150,
                .nk = 300,
                .d = 64,
                .dv = 64,
                .causal = true},
               1);
  expect_right({.nq = 265,
                .nk = 265,
                .d = 128,
                .dv = 128,
                .layout = FFPA_JIT_BNHD,
                .causal = true,
                .row_padding = 8},
               2);
  expect_right({.nq = 200, .nk = 300, .d = 320, .dv = 320, .causal = true, .lse = true}, 6);
  expect_right({.nq = 270, .nk = 350, .d = 64, .dv = 64, .window_left = 20, .window_right = 5}, 3);
  expect_right({.nq = 250, .nk = 70, .d = 64, .dv = 64, .window_left = 3, .window_right = 0}, 4);
  CaseSpec varlen{.heads = 4, .heads_kv = 2, .d = 64, .dv = 64, .layout = FFPA_JIT_VARLEN};
  varlen.lengths_q = {40, 0, 1, 230};
  varlen.lengths_k = {50, 7, 0, 230};
  expect_right(varlen, 5);
}

// Rows of a tile: some positions of 8, 4 and 2 heads of a group; NaN in V of a hidden key.
TEST_F(WgmmaRows, HeadsOfAGroupShareTiles) {
  expect_right({.heads = 16, .heads_kv = 2, .nq = 37, .nk = 300, .d = 64, .dv = 64}, 1);
  expect_right({.batch = 2,
                .heads = 12,
                .heads_kv = 1,
                .nq = 50,
                .nk = 150,
                .d = 128,
                .dv = 72,
                .causal = true,
                .softcap = 5},
               2);
  expect_right({.heads = 8, .heads_kv = 1, .nq = 9, .nk = 2100, .d = 64, .dv = 64}, 3);
  expect_right({.heads = 6, .heads_kv = 1, .nq = 90, .nk = 70, .d = 64, .dv = 64, .window_left = 9},
               4);
  CaseSpec varlen{.heads = 8, .heads_kv = 1, .d = 64, .dv = 64, .layout = FFPA_JIT_VARLEN};
  varlen.causal = true;
  varlen.lengths_q = {40, 0, 1, 90};
  varlen.lengths_k = {50, 7, 8, 90};
  expect_right(varlen, 5);
  CaseSpec spec{.dtype = FFPA_JIT_BF16, .heads = 4, .heads_kv = 1, .nq = 70, .nk = 70, .d = 64};
  spec.dv = 64;
  spec.causal = true;
  AttentionCase problem(spec, 6);
  reference::write_element(problem.args().v.data, spec.dtype, 40 * 64 + 3,
                           std::numeric_limits<float>::quiet_NaN());
  const ffpa_jit_status status = forward(problem.args());
  if (status == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << ffpa_jit_last_error();
  ASSERT_EQ(status, FFPA_JIT_OK) << ffpa_jit_last_error();
  const auto result = reference::read_result(problem.args());
  for (int64_t row = 0; row < 4 * 70; ++row) {
    EXPECT_EQ(std::isnan(result.o[row * 64 + 3]), row % 70 >= 40) << row;
    EXPECT_TRUE(std::isfinite(result.o[row * 64 + 4])) << row;
  }
}

// Hidden keys whose K and V are NaN: under a mask, beyond the diagonal, past a sequence's end.
TEST_F(WgmmaRows, WhatIsHiddenHasNoWeight) {
  for (int64_t d : {64, 128, 256}) {
    expect_right({.nk = 300,
                  .d = d,
                  .dv = d,
                  .mask = "111k",
                  .mask_rows_aligned = true,
                  .poison_hidden = true},
                 d);
  }
  expect_right(
      {.nk = 112, .d = 128, .dv = 128, .mask = "111k", .dropout = 0.3, .poison_hidden = true}, 2);
  expect_right({.nk = 130,
                .d = 72,
                .dv = 72,
                .mask = "111k",
                .bias = "11qk",
                .softcap = 8,
                .poison_hidden = true},
               3);
  // Key 140's V is NaN: rows that see it are NaN, those before it are not.
  CaseSpec spec{.dtype = FFPA_JIT_BF16,
                .heads = 1,
                .heads_kv = 1,
                .nq = 265,
                .nk = 265,
                .d = 64,
                .dv = 64,
                .causal = true};
  AttentionCase problem(spec, 5);
  reference::write_element(problem.args().v.data, spec.dtype, 140 * 64 + 3,
                           std::numeric_limits<float>::quiet_NaN());
  const ffpa_jit_status status = forward(problem.args());
  if (status == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << ffpa_jit_last_error();
  ASSERT_EQ(status, FFPA_JIT_OK) << ffpa_jit_last_error();
  const auto result = reference::read_result(problem.args());
  for (int64_t q = 0; q < 265; ++q) EXPECT_EQ(std::isnan(result.o[q * 64 + 3]), q >= 140) << q;
  for (double value : std::vector<double>(result.o.begin(), result.o.begin() + 140 * 64)) {
    EXPECT_TRUE(std::isfinite(value));
  }
}

TEST_F(WgmmaRows, MasksAndBiases) {
  for (const char* pattern : {"bhqk", "11qk", "b11k", "1h1k", "bhq1"}) {
    for (bool aligned : {true, false}) {  // else another family serves
      const CaseSpec spec{.batch = 2, .nk = 165, .d = 64, .dv = 64, .mask_rows_aligned = aligned};
      CaseSpec with_mask = spec, with_bias = spec;
      with_mask.mask = with_bias.bias = pattern;
      expect_right(with_mask, 1);
      expect_right(with_bias, 2);
    }
  }
  // By sixteen bytes, and the rest of a row one by one.
  for (int64_t nk : {128, 256, 272, 400}) {
    expect_right({.batch = 2, .nq = 100, .nk = nk, .d = 64, .dv = 64, .mask = "bhqk"}, nk);
  }
  expect_right({.nq = 100, .nk = 256, .d = 256, .dv = 256, .causal = true, .mask = "11qk"}, 4);
  for (ffpa_jit_dtype type : {FFPA_JIT_BF16, FFPA_JIT_FP32}) {
    for (int64_t nk : {256, 283}) {
      expect_right({.batch = 2,
                    .nq = 80,
                    .nk = nk,
                    .d = 128,
                    .dv = 128,
                    .bias = "bhqk",
                    .bias_dtype = type,
                    .mask_rows_aligned = true},
                   nk);
    }
  }
  // Keys in pairs: an even number of them.
  expect_right({.nk = 230,
                .d = 128,
                .dv = 128,
                .causal = true,
                .mask = "b1qk",
                .bias = "11qk",
                .bias_dtype = FFPA_JIT_BF16,
                .mask_rows_aligned = true},
               3);
  // Windows that begin anywhere, packed sequences, groups of heads; every head dim's layout of
  // slots.
  for (int64_t d : {64, 128, 192, 256, 320}) {
    expect_right({.batch = 2,
                  .heads = 4,
                  .heads_kv = 2,
                  .nq = 197,
                  .nk = 333,
                  .d = d,
                  .dv = d,
                  .window_left = 90,
                  .window_right = 31,
                  .mask = "b1qk",
                  .mask_rows_aligned = true},
                 d);
    CaseSpec varlen{.heads = 2,
                    .heads_kv = 2,
                    .d = d,
                    .dv = d,
                    .layout = FFPA_JIT_VARLEN,
                    .causal = true,
                    .bias = "bhqk",
                    .bias_dtype = d % 128 == 0 ? FFPA_JIT_FP32 : FFPA_JIT_BF16,
                    .mask_rows_aligned = true};
    varlen.dtype = FFPA_JIT_BF16;
    varlen.lengths_q = {40, 0, 1, 230};
    varlen.lengths_k = {50, 7, 0, 231};
    expect_right(varlen, d + 1);
  }
  CaseSpec spec{.dtype = FFPA_JIT_BF16, .nq = 8, .nk = 72, .d = 64, .dv = 64, .bias = "bhqk"};
  AttentionCase problem(spec, 1);
  float* bias = static_cast<float*>(problem.args().bias.data);
  std::fill(bias, bias + 2 * 8 * 72, std::numeric_limits<float>::lowest());
  if (forward(problem.args()) == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << ffpa_jit_last_error();
  // Every value the lowest finite float hides nothing: the row is an average.
  double mean = 0;
  for (int key = 0; key < 72; ++key) {
    mean += reference::read_element(problem.args().v.data, spec.dtype, key * 64) / 72.0;
  }
  EXPECT_NEAR(reference::read_result(problem.args()).o[0], mean, 2e-3);
}

TEST_F(WgmmaRows, DropoutAlignedAndNot) {
  for (int64_t nk : {164, 165}) {
    expect_right(
        {.batch = 2, .heads = 4, .heads_kv = 2, .nk = nk, .d = 64, .dv = 64, .dropout = 0.3}, nk);
  }
}

// More tiles than are decided at a time; parts of a tile that some rows do not see.
TEST_F(WgmmaRows, DropoutOfManyTiles) {
  expect_right(
      {.heads = 1, .heads_kv = 1, .nq = 130, .nk = 2100, .d = 64, .dv = 64, .dropout = 0.4}, 1);
  expect_right({.heads = 1,
                .heads_kv = 1,
                .nq = 140,
                .nk = 1203,
                .d = 256,
                .dv = 256,
                .causal = true,
                .dropout = 0.1},
               2);
}

// Where the counter of Philox carries into its second word, and where every word is kept.
TEST_F(WgmmaRows, DropoutAtTheEndsOfItsRange) {
  for (int64_t nk : {164, 165}) {
    CaseSpec spec{.dtype = FFPA_JIT_BF16, .nk = nk, .d = 64, .dv = 64, .dropout = 0.3};
    AttentionCase problem(spec, nk);
    ffpa_jit_attention_args args = problem.args();
    args.philox_offset = (uint64_t{1} << 34) - 3001;
    expect_right(args, spec, problem);
    args.philox_offset = (uint64_t{1} << 34) - 3000;
    args.dropout_p = 1e-12;
    expect_right(args, spec, problem);
  }
}

// Scores of which tanh is a polynomial, scores of which it is not, and rows that have both.
TEST_F(WgmmaRows, SoftcapNearAndFar) {
  for (const double softcap : {1.0, 6.0, 50.0, 1e6}) {
    expect_right({.nk = 300, .d = 64, .dv = 64, .softcap = softcap}, 1);
    expect_right({.dtype = FFPA_JIT_FP16,
                  .nq = 140,
                  .nk = 140,
                  .d = 128,
                  .dv = 128,
                  .causal = true,
                  .softcap = softcap},
                 2);
  }
}

TEST_F(WgmmaRows, ScalesAndSoftcap) {
  expect_right({.d = 64, .dv = 64, .softcap = 5, .q_scale = 8}, 1);
  for (const double scale : {0.0, -0.5, -0.01}) {
    CaseSpec spec{.dtype = FFPA_JIT_FP16, .nq = 33, .nk = 165, .d = 64, .dv = 64, .causal = true};
    if (scale == -0.01) spec.softcap = 20;
    AttentionCase problem(spec, 2);
    ffpa_jit_attention_args args = problem.args();
    args.softmax_scale = scale;
    args.has_softmax_scale = 1;
    expect_right(args, spec, problem);
  }
}

// Few tiles, many keys: several blocks share a tile's keys. Here, with NaN in a hidden key too.
TEST_F(WgmmaRows, KeysAreSharedOut) {
  expect_right({.heads = 2, .heads_kv = 1, .nq = 70, .nk = 2100, .d = 64, .dv = 64}, 1);
  expect_right({.heads = 1, .heads_kv = 1, .nq = 200, .nk = 1500, .d = 256, .dv = 256}, 2);
  expect_right({.nq = 300, .nk = 1700, .d = 128, .dv = 72, .causal = true}, 3);
  expect_right({.heads = 1, .heads_kv = 1, .nq = 70, .nk = 1500, .d = 320, .dv = 320}, 5);
  expect_right({.nq = 70, .nk = 1700, .d = 64, .dv = 64, .mask = "111k", .poison_hidden = true}, 4);
}

// More items than blocks: they come from a counter.
TEST_F(WgmmaRows, BlocksTakeItemsOneAfterTheOther) {
  expect_right({.heads = 540, .heads_kv = 2, .nq = 9, .nk = 33, .d = 8, .dv = 8, .causal = true},
               1);
}

TEST_F(WgmmaRows, NoKeysGiveZeroAndMinusInfinity) { expect_right({.nk = 0, .d = 64, .dv = 64}, 1); }

TEST_F(WgmmaRows, RoutesByShapeAndStrides) {
  const auto routed = [&](CaseSpec spec) {
    spec.dtype = FFPA_JIT_BF16;
    AttentionCase problem(spec, 1);
    return family_of(problem.args());
  };
  const std::string family = routed({.nq = 8, .nk = 100, .d = 64, .dv = 64});
  if (family != "wgmma") GTEST_SKIP() << family;
  // Few queries; rows that TMA cannot address.
  EXPECT_EQ(routed({.nq = 7, .nk = 100, .d = 64, .dv = 64}), "mma");
  EXPECT_EQ(routed({.nq = 8, .nk = 100, .d = 64, .dv = 64, .row_padding = 3}), "mma");
  EXPECT_EQ(routed({.nq = 8, .nk = 100, .d = 64, .dv = 64, .row_padding = 8}), "wgmma");
}

}  // namespace
}  // namespace ffpa_jit::testing
