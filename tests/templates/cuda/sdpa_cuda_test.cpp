// The sdpa kernel of the CUDA family, run on the host in lock step, against the fp64 reference.
// Arguments go the library's own way: C ABI struct, checked call, plan, params.
#include "plan/families/sdpa_cuda.h"

#include <gtest/gtest.h>

#include <map>

#include "api/attention_args.h"
#include "base/error.h"
#include "reference/attention_reference.h"
#include "reference/comparison.h"
#include "templates/cuda/attention_case.h"
#include "templates/cuda/lockstep_kernel.h"

namespace ffpa_jit::testing {
namespace {

// Compiled once for all cases with the same kernel.
const LockstepKernel& kernel_for(const PlanStep& step) {
  static std::map<std::string, LockstepKernel> kernels;
  const std::string key = step.context.dump();
  const auto found = kernels.find(key);
  return found != kernels.end() ? found->second
                                : kernels.emplace(key, LockstepKernel(step)).first->second;
}

DeviceInfo hopper() {
  DeviceInfo info;
  info.target = parse_target("sm_90a");
  info.multiprocessors = 132;
  return info;
}

void expect_right(const CaseSpec& spec, uint64_t seed) {
  AttentionCase problem(spec, seed);
  const AttentionCall call = api::checked_call(problem.args(), api::Purpose::kLaunch);
  const KernelFamily& family = sdpa_cuda_family();
  SCOPED_TRACE(text_of(call.problem) + " | " + text_of(call.shape));
  ASSERT_EQ(family.refuses(call.problem, hopper().target), std::nullopt);
  const Plan plan = family.plan(
      call.problem, family.default_config(call.problem, call.shape, hopper()), hopper());
  ASSERT_EQ(plan.steps.size(), 1u);

  const auto reference = reference::attention_reference(problem.args());
  const auto plain = reference::plain_attention(problem.args());
  const double bar = reference::error_bar(reference::relative_error(plain.o, reference.o),
                                          call.problem.dtype, reference.lse.size());
  for (const bool reversed : {false, true}) {
    problem.poison_output();
    ASSERT_TRUE(
        kernel_for(plan.steps[0]).run(call.params, plan.steps[0].geometry(call.shape), reversed))
        << "threads wait for each other for ever";
    const auto result = reference::read_result(problem.args());
    EXPECT_LE(reference::relative_error(result.o, reference.o), bar);
    if (!spec.lse) continue;
    EXPECT_LE(reference::max_error(result.lse, reference.lse),
              reference::lse_error_bar(reference::max_error(plain.lse, reference.lse)));
  }
}

TEST(SdpaCuda, SizesAroundTheTiles) {
  CaseSpec spec;
  for (int64_t nq : {1, 31, 32, 33, 70}) {
    for (int64_t nk : {1, 63, 64, 65, 130}) {
      spec.nq = nq <= 7 ? 9 : nq;  // 1 to 7 rows take another kernel: below
      spec.nk = nk;
      expect_right(spec, nq * 1000 + nk);
    }
  }
}

TEST(SdpaCuda, FewQueries) {
  CaseSpec spec{.dtype = FFPA_JIT_BF16,
                .heads = 4,
                .heads_kv = 2,
                .nk = 200,
                .d = 64,
                .dv = 64,
                .causal = true};
  for (int64_t nq : {1, 3, 4}) {
    spec.nq = nq;
    expect_right(spec, nq);
  }
}

TEST(SdpaCuda, OddHeadDims) {
  expect_right({.nq = 40, .nk = 70, .d = 1, .dv = 1}, 1);
  expect_right({.dtype = FFPA_JIT_FP16, .nq = 40, .nk = 70, .d = 71, .dv = 37}, 2);
  expect_right(
      {.dtype = FFPA_JIT_BF16, .heads = 1, .heads_kv = 1, .nq = 9, .nk = 70, .d = 193, .dv = 129},
      3);
}

TEST(SdpaCuda, WideHeadsTakeSeveralBlocks) {
  expect_right(
      {.dtype = FFPA_JIT_BF16, .heads = 1, .heads_kv = 1, .nq = 9, .nk = 70, .d = 40, .dv = 600},
      1);
}

TEST(SdpaCuda, CausalAndGroupedHeads) {
  CaseSpec spec{.dtype = FFPA_JIT_FP16, .batch = 2, .heads = 6, .heads_kv = 2, .causal = true};
  spec.layout = FFPA_JIT_BNHD;
  expect_right(spec, 1);
  spec.nq = 65;
  expect_right(spec, 2);
  spec.row_padding = 3;  // rows that no vector load can take
  expect_right(spec, 3);
  spec.poison_hidden = true;
  spec.layout = FFPA_JIT_BHND;
  spec.q_scale = 8;
  expect_right(spec, 4);
}

TEST(SdpaCuda, Windows) {
  CaseSpec spec{.nq = 70, .nk = 150, .window_left = 20, .window_right = 5};
  expect_right(spec, 1);
  spec.window_left = 0;
  spec.window_right = 0;
  expect_right(spec, 2);
  spec.window_left = 2147483647;
  expect_right(spec, 3);
  std::swap(spec.nq, spec.nk);  // the first rows see nothing
  spec.window_left = 3;
  expect_right(spec, 4);
}

TEST(SdpaCuda, MasksAndBiases) {
  for (const char* pattern : {"bhqk", "11qk", "b11k", "1h1k", "bhq1"}) {
    CaseSpec spec{.batch = 2, .mask = pattern};
    expect_right(spec, 1);
    spec = {.batch = 2, .bias = pattern};
    expect_right(spec, 2);
  }
  expect_right({.mask = "111k", .poison_hidden = true}, 3);
  expect_right({.dtype = FFPA_JIT_BF16,
                .causal = true,
                .mask = "b1qk",
                .bias = "11qk",
                .bias_dtype = FFPA_JIT_BF16},
               4);
}

TEST(SdpaCuda, Dropout) {
  CaseSpec spec{.batch = 2, .heads = 4, .heads_kv = 2, .dropout = 0.3};
  expect_right(spec, 1);
  spec.philox_from_memory = true;
  expect_right(spec, 2);
}

TEST(SdpaCuda, VarlenWithEmptySequencesAndEverythingElse) {
  CaseSpec spec{.dtype = FFPA_JIT_FP16,
                .heads = 4,
                .heads_kv = 2,
                .layout = FFPA_JIT_VARLEN,
                .window_left = 30,
                .window_right = 10,
                .mask = "11qk",
                .bias = "bh1k",
                .bias_dtype = FFPA_JIT_FP16,
                .dropout = 0.2,
                .softcap = 5};
  spec.lengths_q = {40, 0, 1, 70};
  spec.lengths_k = {50, 7, 0, 130};
  expect_right(spec, 1);
  CaseSpec plain{.layout = FFPA_JIT_VARLEN, .lse = true};
  plain.lengths_q = {3, 33, 0};
  plain.lengths_k = {70, 1, 4};
  expect_right(plain, 2);
}

TEST(SdpaCuda, NoKeysGiveZeroAndMinusInfinity) {
  CaseSpec spec;
  spec.nk = 0;
  expect_right(spec, 1);
}

// A bias whose every value is the lowest finite float hides nothing: the row is an average.
TEST(SdpaCuda, LowestFiniteBiasIsNotAMask) {
  CaseSpec spec{.nq = 8, .nk = 70, .bias = "bhqk"};
  AttentionCase problem(spec, 1);
  float* bias = static_cast<float*>(problem.args().bias.data);
  std::fill(bias, bias + 2 * 8 * 70, std::numeric_limits<float>::lowest());
  const AttentionCall call = api::checked_call(problem.args(), api::Purpose::kLaunch);
  const Plan plan = sdpa_cuda_family().plan(
      call.problem, sdpa_cuda_family().default_config(call.problem, call.shape, hopper()),
      hopper());
  ASSERT_TRUE(
      kernel_for(plan.steps[0]).run(call.params, plan.steps[0].geometry(call.shape), false));
  const auto result = reference::read_result(problem.args());
  const float* v = static_cast<const float*>(problem.args().v.data);
  double mean = 0;
  for (int key = 0; key < 70; ++key) mean += v[key * 32] / 70.0;
  EXPECT_NEAR(result.o[0], mean, 1e-6);
}

}  // namespace
}  // namespace ffpa_jit::testing
