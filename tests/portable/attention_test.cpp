// The portable kernel alone, without runtime or plan: random problems on the CPU device against the
// fp64 reference. A failure prints the problem's seed: FFPA_TEST_SEED=<seed> runs that one only.
#include "portable/attention.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "api/attention_args.h"
#include "device/cpu/cpu_device.h"
#include "properties/check.h"
#include "reference/attention_reference.h"

namespace ffpa_jit::portable {
namespace {

void run_portable(CpuDevice& device, const ffpa_jit_attention_args& args) {
  const AttentionCall call = api::checked_call(args, api::Purpose::kLaunch);
  const auto kernel = device.wrap(attention_kernel(call.problem));
  LaunchGeometry geometry;
  geometry.grid = {static_cast<uint32_t>((call.shape.seqlen_q + kBlockM - 1) / kBlockM),
                   static_cast<uint32_t>(call.shape.heads_q),
                   static_cast<uint32_t>(call.shape.batch)};
  geometry.dynamic_shared_bytes = static_cast<uint32_t>(scratch_bytes(call.problem));
  device.launch(*kernel, geometry, std::as_bytes(std::span(&call.params, 1)), nullptr);
}

TEST(PortableAttention, RandomProblems) {
  const char* only = std::getenv("FFPA_TEST_SEED");
  const uint64_t first = only ? std::strtoull(only, nullptr, 10) : 1;
  const uint64_t last = only ? first : 250;
  CpuDevice device(2);
  properties::Judge judge;
  for (uint64_t seed = first; seed <= last; ++seed) {
    properties::RandomProblem problem(seed);
    run_portable(device, problem.args());
    judge.expect_right(problem);
  }
  judge.expect_accurate_on_average();
}

TEST(PortableAttention, SameBitsEveryTime) {
  CpuDevice two(2), one(1);
  for (uint64_t seed = 1000; seed < 1020; ++seed) {
    properties::RandomProblem problem(seed);
    run_portable(two, problem.args());
    const reference::AttentionResult first = reference::read_result(problem.args());
    problem.poison_output();
    run_portable(one, problem.args());
    EXPECT_EQ(reference::read_result(problem.args()).o, first.o) << problem.text();
  }
}

}  // namespace
}  // namespace ffpa_jit::portable
