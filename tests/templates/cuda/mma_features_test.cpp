// Score modifiers, sinks, per-sequence lengths, pages and fp16 accumulation of the mma family on
// emulated devices, alone and together, against the fp64 reference.
#include <gtest/gtest.h>

#include "ffpa_jit/ffpa_jit.h"
#include "properties/check.h"
#include "properties/random_features.h"
#include "reference/attention_reference.h"
#include "reference/comparison.h"
#include "templates/cuda/attention_case.h"
#include "templates/cuda/emulated_family.h"

namespace ffpa_jit::properties {
namespace {

class MmaFeatures : public ffpa_jit::testing::EmulatedFamily {
 protected:
  MmaFeatures() : EmulatedFamily("mma") {}

  // `count` problems of those that the family takes: it refuses fp32 and odd head dims.
  void check(const RandomFeatures::Wanted& wanted, uint64_t seed, int count) {
    for (int served = 0, tried = 0; served < count; ++seed, ++tried) {
      ASSERT_LT(tried, 40 * count) << "the family takes too few of the problems";
      RandomFeatures problem(seed, wanted);
      const ffpa_jit_status status = forward(problem.args(), seed % 2 ? 80 : 90);
      if (status == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << ffpa_jit_last_error();
      if (status == FFPA_JIT_UNSUPPORTED) continue;
      ASSERT_EQ(status, FFPA_JIT_OK) << problem.text() << "\n" << ffpa_jit_last_error();
      judge_.expect_right(problem);
      ++served;
    }
  }

  Judge judge_;
};

TEST_F(MmaFeatures, Modifiers) { check({.modifier = true}, 100, 6); }
TEST_F(MmaFeatures, Sinks) { check({.sinks = true}, 200, 5); }
TEST_F(MmaFeatures, LengthsOfSequences) { check({.seqlens_k = true}, 300, 5); }
TEST_F(MmaFeatures, Pages) { check({.seqlens_k = true, .pages = true}, 400, 6); }
TEST_F(MmaFeatures, AllTogether) {
  check({.modifier = true, .sinks = true, .seqlens_k = true, .pages = true}, 500, 6);
}

// Fewer bits, but of one chunk's sums only: ten times the error of fp32 accumulation is far off.
TEST_F(MmaFeatures, SumsInFp16) {
  for (const int64_t d : {64, 128, 320, 512}) {
    for (const int64_t nq : {1, 65}) {
      ffpa_jit::testing::AttentionCase problem(
          {.dtype = FFPA_JIT_FP16, .heads = 2, .heads_kv = 1, .nq = nq, .nk = 300, .d = d, .dv = d},
          static_cast<uint64_t>(d));
      problem.poison_output();
      ffpa_jit_attention_args args = problem.args();
      args.accumulate = FFPA_JIT_ACCUMULATE_FP16;
      const ffpa_jit_status status = forward(args, 80);
      if (status == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << ffpa_jit_last_error();
      ASSERT_EQ(status, FFPA_JIT_OK) << ffpa_jit_last_error();
      const auto reference = reference::attention_reference(args);
      const double plain =
          reference::relative_error(reference::plain_attention(args).o, reference.o);
      const double error = reference::relative_error(reference::read_result(args).o, reference.o);
      EXPECT_LT(error, 10 * plain) << d << " " << nq;
      EXPECT_NE(error, 0);
    }
  }
}

}  // namespace
}  // namespace ffpa_jit::properties
