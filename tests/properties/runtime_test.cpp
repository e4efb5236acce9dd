// Random problems through the whole runtime, over the C ABI of the shared library, per family and
// CPU level, against the fp64 reference. A failure prints the problem's seed: FFPA_TEST_SEED=<seed>
// runs that one only.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "api/temporary_runtime.h"
#include "ffpa_jit/ffpa_jit.h"
#include "properties/check.h"

namespace ffpa_jit::properties {
namespace {

class Runtime : public testing::Test {
 protected:
  void SetUp() override { runtime_.emplace(2); }

  // Every seed in [first, first + count); one only when FFPA_TEST_SEED is set.
  void check_family(const char* family, uint64_t first, uint64_t count) {
    if (const char* only = std::getenv("FFPA_TEST_SEED")) {
      first = std::strtoull(only, nullptr, 10);
      count = 1;
    }
    Judge judge;
    for (uint64_t seed = first; seed < first + count; ++seed) {
      RandomProblem problem(seed);
      ffpa_jit_attention_args args = problem.args();
      args.family = family;
      const ffpa_jit_status status = ffpa_jit_attention_forward(*runtime_, &args);
      if (status == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << ffpa_jit_last_error();
      ASSERT_EQ(status, FFPA_JIT_OK) << problem.text() << "\n" << ffpa_jit_last_error();
      judge.expect_right(problem);
    }
    judge.expect_accurate_on_average();
  }

  std::optional<test::TemporaryRuntime> runtime_;
};

TEST_F(Runtime, PortableFamily) { check_family("portable", 10'000, 120); }

TEST_F(Runtime, RoutedFamily) { check_family(nullptr, 20'000, 10); }

struct Level {
  const char* name;
  uint64_t first_seed;  // other problems at every level
};

// The generated kernels differ from one CPU level to the next: the same processor runs all below
// its own.
class SdpaAtLevel : public Runtime, public testing::WithParamInterface<Level> {
 protected:
  void SetUp() override {
    ::setenv("FFPA_JIT_CPU_LEVEL", GetParam().name, 1);
    Runtime::SetUp();
    ::unsetenv("FFPA_JIT_CPU_LEVEL");
  }

  // What the runtime makes kernels for under the limit: the processor's own level when it is lower.
  std::string target() {
    RandomProblem problem(1);
    ffpa_jit_attention_args args = problem.args();
    args.family = "portable";  // needs no compiler
    ffpa_jit_plan* plan = nullptr;
    EXPECT_EQ(ffpa_jit_attention_prepare(*runtime_, &args, &plan), FFPA_JIT_OK)
        << ffpa_jit_last_error();
    ffpa_jit_plan_info info{};
    info.struct_size = sizeof(info);
    EXPECT_EQ(ffpa_jit_plan_get_info(plan, &info), FFPA_JIT_OK) << ffpa_jit_last_error();
    const std::string text = info.target;
    ffpa_jit_plan_destroy(plan);
    return text;
  }
};

TEST_P(SdpaAtLevel, MatchesTheReference) {
  if (target() != std::string("cpu:") + GetParam().name)
    GTEST_SKIP() << "this processor ends at " << target();
  check_family("sdpa", GetParam().first_seed, 30);
}

INSTANTIATE_TEST_SUITE_P(Levels, SdpaAtLevel,
                         testing::Values(Level{"x86-64", 30'000}, Level{"x86-64-v3", 31'000},
                                         Level{"x86-64-v4", 32'000},
                                         Level{"x86-64-v4-bf16", 33'000},
                                         Level{"x86-64-v4-amx", 34'000}),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace ffpa_jit::properties
