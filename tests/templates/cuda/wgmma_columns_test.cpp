// The wgmma family's schedule for head dims past 352 through the C ABI on an emulated sm_90,
// against the fp64 reference: the named cases. Random ones run in tests/emulator. Every access,
// copy and barrier of the kernels is checked on the way.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "ffpa_jit/ffpa_jit.h"
#include "reference/attention_reference.h"
#include "reference/comparison.h"
#include "templates/cuda/attention_case.h"
#include "templates/cuda/emulated_hopper.h"

namespace ffpa_jit::testing {
namespace {

class WgmmaColumns : public EmulatedHopper {};

TEST_F(WgmmaColumns, SizesAroundTheTiles) {
  for (int64_t nq : {8, 65}) {
    for (int64_t nk : {1, 129, 256, 257, 600}) {
      expect_right({.heads = 1, .heads_kv = 1, .nq = nq, .nk = nk, .d = 360, .dv = 360},
                   nq * 1000 + nk);
    }
  }
}

TEST_F(WgmmaColumns, HeadDims) {
  const std::pair<int64_t, int64_t> dims[] = {
      {376, 376}, {392, 392},   {384, 384},   {416, 416}, {480, 480}, {504, 504}, {512, 512},
      {640, 640}, {1000, 1000}, {1024, 1024}, {576, 512}, {64, 512},  {512, 64},  {320, 1024}};
  for (const auto& [d, dv] : dims) {
    expect_right(
        {.dtype = FFPA_JIT_FP16, .heads = 1, .heads_kv = 1, .nq = 70, .nk = 270, .d = d, .dv = dv},
        d + dv);
  }
}

TEST_F(WgmmaColumns, CausalWindowsAndLayouts) {
  expect_right({.batch = 2,
                .heads = 6,
                .heads_kv = 2,
                .nq = 70,
                .nk = 300,
                .d = 360,
                .dv = 360,
                .causal = true,
                .lse = true},
               1);
  expect_right({.nq = 200,
                .nk = 265,
                .d = 512,
                .dv = 512,
                .layout = FFPA_JIT_BNHD,
                .causal = true,
                .row_padding = 8},
               2);
  expect_right({.nq = 150, .nk = 700, .d = 360, .dv = 360, .window_left = 20, .window_right = 5},
               3);
  expect_right(
      {.nq = 150, .nk = 70, .d = 360, .dv = 360, .window_left = 3, .window_right = 0, .lse = true},
      4);
  expect_right({.nq = 100, .nk = 300, .d = 640, .dv = 640, .causal = true, .lse = true}, 5);
  CaseSpec varlen{
      .heads = 4, .heads_kv = 4, .d = 360, .dv = 360, .layout = FFPA_JIT_VARLEN, .lse = true};
  varlen.lengths_q = {40, 0, 1, 130};
  varlen.lengths_k = {50, 7, 0, 330};
  expect_right(varlen, 6);
}

// Query heads of a kv head in one tile: 4 of 4, 4 of 12, all 64.
TEST_F(WgmmaColumns, PackedHeads) {
  expect_right({.heads = 8,
                .heads_kv = 2,
                .nq = 33,
                .nk = 130,
                .d = 360,
                .dv = 360,
                .causal = true,
                .lse = true},
               1);
  expect_right({.heads = 12, .heads_kv = 1, .nq = 17, .nk = 130, .d = 360, .dv = 360}, 2);
  expect_right({.heads = 64, .heads_kv = 1, .nq = 8, .nk = 130, .d = 576, .dv = 512}, 3);
}

// Hidden keys whose K and V are NaN: under a mask, beyond the diagonal, past a sequence's end.
TEST_F(WgmmaColumns, WhatIsHiddenHasNoWeight) {
  for (int64_t d : {360, 512}) {
    expect_right({.heads = 1,
                  .heads_kv = 1,
                  .nq = 33,
                  .nk = 300,
                  .d = d,
                  .dv = d,
                  .mask = "111k",
                  .poison_hidden = true},
                 d);
  }
  expect_right({.heads = 1,
                .heads_kv = 1,
                .nq = 33,
                .nk = 100,
                .d = 360,
                .dv = 360,
                .mask = "111k",
                .dropout = 0.3,
                .poison_hidden = true},
               2);
  CaseSpec spec{.dtype = FFPA_JIT_BF16,
                .heads = 1,
                .heads_kv = 1,
                .nq = 150,
                .nk = 150,
                .d = 360,
                .dv = 360,
                .causal = true};
  AttentionCase problem(spec, 5);
  reference::write_element(problem.args().v.data, spec.dtype, 140 * 360 + 3,
                           std::numeric_limits<float>::quiet_NaN());
  const ffpa_jit_status status = forward(problem.args());
  if (status == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << ffpa_jit_last_error();
  ASSERT_EQ(status, FFPA_JIT_OK) << ffpa_jit_last_error();
  const auto result = reference::read_result(problem.args());
  for (int64_t q = 0; q < 150; ++q) EXPECT_EQ(std::isnan(result.o[q * 360 + 3]), q >= 140) << q;
}

TEST_F(WgmmaColumns, MasksAndBiases) {
  for (const char* pattern : {"bhqk", "11qk", "b11k"}) {
    const CaseSpec spec{.nk = 305, .d = 360, .dv = 360, .mask_rows_aligned = true};
    CaseSpec with_mask = spec, with_bias = spec;
    with_mask.mask = with_bias.bias = pattern;
    expect_right(with_mask, 1);
    expect_right(with_bias, 2);
  }
  // TMA reads neither: another family serves.
  expect_right({.nk = 65, .d = 376, .dv = 376, .mask = "bhqk"}, 8);
  expect_right({.nk = 64, .d = 376, .dv = 376, .bias = "bhq1"}, 9);
  // Heads of a group share a tile, whose rows are told alike by head, by row, or both, or neither.
  for (const char* pattern : {"bhqk", "b1qk", "bh1k", "b11k"}) {
    const CaseSpec spec{.heads = 4,
                        .heads_kv = 1,
                        .nq = 37,
                        .nk = 330,
                        .d = 384,
                        .dv = 384,
                        .causal = true,
                        .mask_rows_aligned = true};
    CaseSpec with_mask = spec, with_bias = spec;
    with_mask.mask = with_bias.bias = pattern;
    with_bias.bias_dtype = FFPA_JIT_BF16, with_bias.dtype = FFPA_JIT_BF16;
    expect_right(with_mask, 5);
    expect_right(with_bias, 6);
  }
  for (ffpa_jit_dtype type : {FFPA_JIT_BF16, FFPA_JIT_FP32}) {
    expect_right({.dtype = FFPA_JIT_BF16,
                  .nk = 590,
                  .d = 512,
                  .dv = 512,
                  .causal = true,
                  .bias = "11qk",
                  .bias_dtype = type,
                  .mask_rows_aligned = true},
                 3);
  }
  expect_right(
      {.nk = 330, .d = 512, .dv = 512, .mask = "b1qk", .lse = true, .mask_rows_aligned = true}, 4);
  // With a mask too, and with softcap, for which a cluster shares out the columns.
  expect_right({.nk = 330,
                .d = 360,
                .dv = 360,
                .mask = "b1qk",
                .bias = "1hqk",
                .softcap = 9,
                .mask_rows_aligned = true},
               7);
}

TEST_F(WgmmaColumns, DropoutAlignedAndNot) {
  for (int64_t nk : {600, 601}) {
    expect_right({.batch = 2,
                  .heads = 4,
                  .heads_kv = 2,
                  .nk = nk,
                  .d = 360,
                  .dv = 360,
                  .dropout = 0.3,
                  .lse = true},
                 nk);
  }
}

// Where the counter of Philox carries into its second word.
TEST_F(WgmmaColumns, DropoutAtTheEndOfItsRange) {
  CaseSpec spec{.dtype = FFPA_JIT_BF16, .heads = 1, .heads_kv = 1, .nq = 4, .nk = 301};
  spec.d = spec.dv = 360;
  spec.dropout = 0.3;
  AttentionCase problem(spec, 1);
  ffpa_jit_attention_args args = problem.args();
  args.philox_offset = (uint64_t{1} << 34) - 7;
  expect_right(args, spec, problem);
}

TEST_F(WgmmaColumns, ScalesAndSoftcap) {
  expect_right({.nk = 300, .d = 360, .dv = 360, .softcap = 5, .q_scale = 8}, 1);
  expect_right({.nk = 600, .d = 360, .dv = 360, .q_scale = 8}, 2);
  for (const double scale : {0.0, -0.5}) {
    CaseSpec spec{.dtype = FFPA_JIT_FP16, .nq = 33, .nk = 165, .d = 360, .dv = 360, .causal = true};
    AttentionCase problem(spec, 2);
    ffpa_jit_attention_args args = problem.args();
    args.softmax_scale = scale;
    args.has_softmax_scale = 1;
    expect_right(args, spec, problem);
  }
}

// Few tiles, many keys, or tiles that whole waves leave over: several blocks share a tile's keys.
TEST_F(WgmmaColumns, KeysAreSharedOut) {
  expect_right({.heads = 1, .heads_kv = 1, .nq = 70, .nk = 1200, .d = 512, .dv = 512}, 1);
  expect_right({.heads = 4,
                .heads_kv = 1,
                .nq = 40,
                .nk = 1300,
                .d = 360,
                .dv = 360,
                .causal = true,
                .lse = true},
               2);
}

// The last tile of keys has some for one of the warpgroups only.
TEST_F(WgmmaColumns, HalvesWithoutVisibleKeys) {
  for (int64_t n : {300, 384, 385}) {
    expect_right({.heads = 1, .heads_kv = 1, .nq = n, .nk = n, .d = 512, .dv = 512, .causal = true},
                 n);
  }
}

TEST_F(WgmmaColumns, NoKeysGiveZeroAndMinusInfinity) {
  expect_right({.nk = 0, .d = 360, .dv = 360, .lse = true}, 1);
}

}  // namespace
}  // namespace ffpa_jit::testing
