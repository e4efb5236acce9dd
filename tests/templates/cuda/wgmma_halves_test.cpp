// The wgmma family's schedule for head dims past 512 through the C ABI on an emulated sm_90,
// against the fp64 reference: the named cases. Random ones run in tests/emulator. Every access,
// copy and barrier of the kernels, those between the two blocks of a cluster too, is checked on the
// way.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "ffpa_jit/ffpa_jit.h"
#include "reference/attention_reference.h"
#include "reference/comparison.h"
#include "templates/cuda/attention_case.h"
#include "templates/cuda/emulated_hopper.h"

namespace ffpa_jit::testing {
namespace {

class WgmmaHalves : public EmulatedHopper {};

TEST_F(WgmmaHalves, SizesAroundTheTiles) {
  for (int64_t nq : {8, 65}) {
    for (int64_t nk : {1, 63, 129, 256, 257, 600}) {
      expect_right({.heads = 1, .heads_kv = 1, .nq = nq, .nk = nk, .d = 520, .dv = 520},
                   nq * 1000 + nk);
    }
  }
}

// Halves that are whole chunks or not; one block's half empty; a side of 512 columns or fewer.
TEST_F(WgmmaHalves, HeadDims) {
  const std::pair<int64_t, int64_t> dims[] = {{640, 640}, {768, 768},  {888, 888},  {1000, 1000},
                                              {576, 512}, {64, 1024},  {8, 520},    {1024, 8},
                                              {1024, 64}, {320, 1024}, {1024, 1024}};
  for (const auto& [d, dv] : dims) {
    expect_right(
        {.dtype = FFPA_JIT_FP16, .heads = 1, .heads_kv = 1, .nq = 70, .nk = 270, .d = d, .dv = dv},
        d + dv);
  }
}

// The order in which copies land and blocks run, chosen before the runtime is made.
class Schedule : public ::testing::WithParamInterface<const char*> {
 protected:
  Schedule() { ::setenv("FFPA_JIT_EMULATOR_SCHEDULE", GetParam(), 1); }
  ~Schedule() { ::unsetenv("FFPA_JIT_EMULATOR_SCHEDULE"); }
};
class WgmmaHalvesSchedules : public Schedule, public EmulatedHopper {};

TEST_P(WgmmaHalvesSchedules, SeveralTilesOfKeys) {
  expect_right({.heads = 2, .heads_kv = 1, .nq = 70, .nk = 900, .d = 640, .dv = 640}, 7);
  expect_right({.heads = 1, .heads_kv = 1, .nq = 9, .nk = 600, .d = 64, .dv = 520}, 8);
}

INSTANTIATE_TEST_SUITE_P(Orders, WgmmaHalvesSchedules,
                         ::testing::Values("late", "early", "shuffle:1", "shuffle:2", "shuffle:3"));

TEST_F(WgmmaHalves, CausalWindowsAndLayouts) {
  expect_right({.batch = 2,
                .heads = 6,
                .heads_kv = 2,
                .nq = 70,
                .nk = 300,
                .d = 640,
                .dv = 640,
                .causal = true,
                .lse = true},
               1);
  expect_right({.nq = 200,
                .nk = 265,
                .d = 1024,
                .dv = 1024,
                .layout = FFPA_JIT_BNHD,
                .causal = true,
                .row_padding = 8},
               2);
  expect_right({.nq = 150, .nk = 700, .d = 520, .dv = 520, .window_left = 20, .window_right = 5},
               3);
  CaseSpec varlen{
      .heads = 4, .heads_kv = 4, .d = 640, .dv = 640, .layout = FFPA_JIT_VARLEN, .lse = true};
  varlen.lengths_q = {40, 0, 1, 130};
  varlen.lengths_k = {50, 7, 0, 330};
  expect_right(varlen, 4);
}

// Query heads of a kv head in one tile: 4 of 4, 4 of 12, all 64.
TEST_F(WgmmaHalves, PackedHeads) {
  expect_right({.heads = 8,
                .heads_kv = 2,
                .nq = 33,
                .nk = 130,
                .d = 520,
                .dv = 520,
                .causal = true,
                .lse = true},
               1);
  expect_right({.heads = 12, .heads_kv = 1, .nq = 17, .nk = 130, .d = 520, .dv = 520}, 2);
  expect_right({.heads = 64, .heads_kv = 1, .nq = 8, .nk = 130, .d = 576, .dv = 512}, 3);
}

// Hidden keys whose K and V are NaN: under a mask, and in only some of the blocks of 64 keys.
TEST_F(WgmmaHalves, WhatIsHiddenHasNoWeight) {
  for (int64_t d : {520, 1024}) {
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
  CaseSpec spec{.dtype = FFPA_JIT_BF16,
                .heads = 1,
                .heads_kv = 1,
                .nq = 150,
                .nk = 150,
                .d = 640,
                .dv = 640,
                .causal = true};
  AttentionCase problem(spec, 5);
  reference::write_element(problem.args().v.data, spec.dtype, 140 * 640 + 3,
                           std::numeric_limits<float>::quiet_NaN());
  const ffpa_jit_status status = forward(problem.args());
  if (status == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << ffpa_jit_last_error();
  ASSERT_EQ(status, FFPA_JIT_OK) << ffpa_jit_last_error();
  const auto result = reference::read_result(problem.args());
  for (int64_t q = 0; q < 150; ++q) EXPECT_EQ(std::isnan(result.o[q * 640 + 3]), q >= 140) << q;
}

TEST_F(WgmmaHalves, MasksAndBiases) {
  for (const char* pattern : {"bhqk", "b11k"}) {
    expect_right({.batch = 2, .nk = 265, .d = 640, .dv = 640, .mask = pattern, .lse = true}, 1);
    expect_right({.batch = 2, .nk = 265, .d = 640, .dv = 640, .bias = pattern}, 2);
  }
  expect_right({.nk = 330,
                .d = 1024,
                .dv = 1024,
                .causal = true,
                .bias = "11qk",
                .bias_dtype = FFPA_JIT_BF16,
                .lse = true},
               3);
}

TEST_F(WgmmaHalves, DropoutAlignedAndNot) {
  for (int64_t nk : {600, 601}) {
    expect_right({.batch = 2,
                  .heads = 4,
                  .heads_kv = 2,
                  .nk = nk,
                  .d = 520,
                  .dv = 520,
                  .dropout = 0.3,
                  .lse = true},
                 nk);
  }
  expect_right({.nk = 300, .d = 1024, .dv = 1024, .mask = "11qk", .dropout = 0.3}, 1);
}

TEST_F(WgmmaHalves, ScalesAndSoftcap) {
  expect_right({.nk = 300, .d = 640, .dv = 640, .softcap = 5, .q_scale = 8}, 1);
  expect_right({.nk = 600, .d = 640, .dv = 640, .q_scale = 8}, 2);
  for (const double scale : {0.0, -0.5}) {
    CaseSpec spec{.dtype = FFPA_JIT_FP16, .nq = 33, .nk = 265, .d = 520, .dv = 520, .causal = true};
    AttentionCase problem(spec, 2);
    ffpa_jit_attention_args args = problem.args();
    args.softmax_scale = scale;
    args.has_softmax_scale = 1;
    expect_right(args, spec, problem);
  }
}

TEST_F(WgmmaHalves, NoKeysGiveZeroAndMinusInfinity) {
  expect_right({.nk = 0, .d = 640, .dv = 640, .lse = true}, 1);
}

}  // namespace
}  // namespace ffpa_jit::testing
