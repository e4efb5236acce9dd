// The mma family through the C ABI on emulated devices, against the fp64 reference: the named
// cases. Random ones run in tests/emulator. Every access and barrier of the kernels is checked on
// the way.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ffpa_jit/ffpa_jit.h"
#include "reference/attention_reference.h"
#include "reference/comparison.h"
#include "templates/cuda/attention_case.h"
#include "templates/cuda/emulated_family.h"

namespace ffpa_jit::testing {
namespace {

class MmaCuda : public EmulatedFamily {
 protected:
  MmaCuda() : EmulatedFamily("mma") {}

  // False where there is no compiler for emulated devices: then the test is skipped.
  bool run(AttentionCase& problem) {
    problem.poison_output();
    const ffpa_jit_status status = forward(problem.args());
    if (status == FFPA_JIT_NO_COMPILER) return false;
    EXPECT_EQ(status, FFPA_JIT_OK) << ffpa_jit_last_error();
    return true;
  }
};

TEST_F(MmaCuda, SizesAroundTheTiles) {
  for (int64_t nq : {8, 127, 128, 129}) {
    for (int64_t nk : {1, 63, 64, 65, 193})
      expect_right({.nq = nq, .nk = nk, .d = 64, .dv = 64}, nq * 1000 + nk);
  }
}

TEST_F(MmaCuda, HeadDims) {
  for (int64_t d : {8, 24, 72, 136, 264, 328, 520, 776, 1000, 1024}) {
    for (int capability : {80, 86, 90}) {
      expect_right(
          {.dtype = FFPA_JIT_FP16, .heads = 1, .heads_kv = 1, .nq = 33, .nk = 70, .d = d, .dv = d},
          d, capability);
    }
  }
  expect_right({.heads = 1, .heads_kv = 1, .nq = 33, .nk = 70, .d = 1000, .dv = 72}, 1);
  expect_right({.heads = 1, .heads_kv = 1, .nq = 33, .nk = 70, .d = 40, .dv = 1024}, 2);
}

TEST_F(MmaCuda, CausalWindowsAndLayouts) {
  expect_right({.batch = 2,
                .heads = 6,
                .heads_kv = 2,
                .nq = 150,
                .nk = 200,
                .d = 64,
                .dv = 64,
                .causal = true},
               1);
  expect_right({.nq = 65,
                .nk = 65,
                .d = 128,
                .dv = 128,
                .layout = FFPA_JIT_BNHD,
                .causal = true,
                .row_padding = 3},
               2);
  expect_right({.nq = 70, .nk = 150, .d = 64, .dv = 64, .window_left = 20, .window_right = 5}, 3);
  expect_right({.nq = 150, .nk = 70, .d = 64, .dv = 64, .window_left = 3, .window_right = 0}, 4);
  CaseSpec varlen{
      .heads = 4, .heads_kv = 2, .d = 64, .dv = 64, .layout = FFPA_JIT_VARLEN, .causal = false};
  varlen.lengths_q = {40, 0, 1, 130};
  varlen.lengths_k = {50, 7, 0, 130};
  expect_right(varlen, 5);
}

// Hidden keys whose K and V are NaN: under a mask, beyond the diagonal, in registers and in shared
// memory.
TEST_F(MmaCuda, WhatIsHiddenHasNoWeight) {
  expect_right({.d = 64, .dv = 64, .mask = "111k", .poison_hidden = true}, 1);
  expect_right({.d = 128, .dv = 128, .mask = "111k", .dropout = 0.3, .poison_hidden = true}, 2);
  expect_right(
      {.heads = 1, .heads_kv = 1, .d = 512, .dv = 512, .mask = "111k", .poison_hidden = true}, 3);
  expect_right({.nq = 3, .nk = 300, .d = 64, .dv = 64, .mask = "111k", .poison_hidden = true}, 4);
  // Key 40's V is NaN: rows that see it are NaN, those before it are not.
  for (int64_t d : {64, 512}) {
    CaseSpec spec{.dtype = FFPA_JIT_BF16,
                  .heads = 1,
                  .heads_kv = 1,
                  .nq = 65,
                  .nk = 65,
                  .d = d,
                  .dv = d,
                  .causal = true};
    AttentionCase problem(spec, 5);
    reference::write_element(problem.args().v.data, spec.dtype, 40 * d + 3,
                             std::numeric_limits<float>::quiet_NaN());
    if (!run(problem)) GTEST_SKIP() << ffpa_jit_last_error();
    const auto result = reference::read_result(problem.args());
    for (int64_t q = 0; q < 65; ++q) EXPECT_EQ(std::isnan(result.o[q * d + 3]), q >= 40) << q;
  }
}

TEST_F(MmaCuda, MasksAndBiases) {
  for (const char* pattern : {"bhqk", "11qk", "b11k", "1h1k", "bhq1"}) {
    expect_right({.batch = 2, .d = 64, .dv = 64, .mask = pattern}, 1);
    expect_right({.batch = 2, .d = 64, .dv = 64, .bias = pattern}, 2);
  }
  // Keys in pairs: an even number of them.
  expect_right({.nk = 130,
                .d = 128,
                .dv = 128,
                .causal = true,
                .mask = "b1qk",
                .bias = "11qk",
                .bias_dtype = FFPA_JIT_BF16},
               3);
  CaseSpec spec{.dtype = FFPA_JIT_BF16, .nq = 8, .nk = 70, .d = 64, .dv = 64, .bias = "bhqk"};
  AttentionCase problem(spec, 1);
  float* bias = static_cast<float*>(problem.args().bias.data);
  std::fill(bias, bias + 2 * 8 * 70, std::numeric_limits<float>::lowest());
  if (!run(problem)) GTEST_SKIP() << ffpa_jit_last_error();
  // Every value the lowest finite float hides nothing: the row is an average.
  double mean = 0;
  for (int key = 0; key < 70; ++key) {
    mean += reference::read_element(problem.args().v.data, spec.dtype, key * 64) / 70.0;
  }
  EXPECT_NEAR(reference::read_result(problem.args()).o[0], mean, 2e-3);
}

TEST_F(MmaCuda, DropoutAlignedAndNot) {
  expect_right({.batch = 2, .heads = 4, .heads_kv = 2, .nk = 64, .d = 64, .dv = 64, .dropout = 0.3},
               1);
  expect_right({.batch = 2, .heads = 4, .heads_kv = 2, .nk = 65, .d = 64, .dv = 64, .dropout = 0.3},
               2);
}

TEST_F(MmaCuda, ScalesAndSoftcap) {
  expect_right({.d = 64, .dv = 64, .softcap = 5, .q_scale = 8}, 1);
  for (const double scale : {0.0, -0.5}) {
    CaseSpec spec{.dtype = FFPA_JIT_FP16, .nq = 33, .nk = 65, .d = 64, .dv = 64, .causal = true};
    AttentionCase problem(spec, 2);
    ffpa_jit_attention_args args = problem.args();
    args.softmax_scale = scale;
    args.has_softmax_scale = 1;
    const auto reference = reference::attention_reference(args);
    const ffpa_jit_status status = forward(args, 80);
    if (status == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << ffpa_jit_last_error();
    ASSERT_EQ(status, FFPA_JIT_OK) << ffpa_jit_last_error();
    EXPECT_LE(reference::relative_error(reference::read_result(problem.args()).o, reference.o),
              1e-3)
        << scale;
  }
}

TEST_F(MmaCuda, FewQueriesOverSplitKeys) {
  for (int64_t nq : {1, 3, 7}) {
    expect_right(
        {.heads = 8, .heads_kv = 2, .nq = nq, .nk = 1500, .d = 64, .dv = 64, .causal = true}, nq);
  }
  expect_right({.heads = 20, .heads_kv = 1, .nq = 2, .nk = 700, .d = 128, .dv = 72}, 4);
  expect_right({.heads = 2,
                .heads_kv = 1,
                .nq = 1,
                .nk = 1100,
                .d = 512,
                .dv = 512,
                .mask = "111k",
                .dropout = 0.2},
               5);
  CaseSpec varlen{.heads = 4, .heads_kv = 2, .d = 64, .dv = 64, .layout = FFPA_JIT_VARLEN};
  varlen.lengths_q = {1, 0, 2};
  varlen.lengths_k = {900, 7, 0};
  expect_right(varlen, 6);
}

// More queries than decoding has, but too few tiles to fill a device: keys are shared then too.
TEST_F(MmaCuda, ShortQueriesOverManyKeys) {
  expect_right(
      {.heads = 4, .heads_kv = 2, .nq = 33, .nk = 1500, .d = 128, .dv = 128, .causal = true}, 1);
  expect_right({.heads = 2, .nq = 9, .nk = 700, .d = 512, .dv = 512}, 2);
  expect_right({.heads = 2,
                .nq = 20,
                .nk = 700,
                .d = 64,
                .dv = 64,
                .window_left = 30,
                .window_right = 0,
                .mask = "bh1k",
                .dropout = 0.2},
               3);
}

TEST_F(MmaCuda, NoKeysGiveZeroAndMinusInfinity) { expect_right({.nk = 0, .d = 64, .dv = 64}, 1); }

}  // namespace
}  // namespace ffpa_jit::testing
