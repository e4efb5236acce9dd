// Random problems through the whole runtime on emulated CUDA devices, against the fp64 reference. A
// failure prints the problem's seed: FFPA_TEST_SEED=<seed> runs that one only.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "ffpa_jit/ffpa_jit.h"
#include "properties/check.h"

namespace ffpa_jit::properties {
namespace {

class EmulatedSdpa : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "ffpa_emulator_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    cache_dir_ = pattern;
    ffpa_jit_runtime_options options = FFPA_JIT_RUNTIME_OPTIONS_INIT;
    options.cache_dir = pattern.c_str();
    ASSERT_EQ(ffpa_jit_runtime_create(&options, &runtime_), FFPA_JIT_OK) << ffpa_jit_last_error();
  }

  void TearDown() override {
    ffpa_jit_runtime_destroy(runtime_);
    std::filesystem::remove_all(cache_dir_);
  }

  void check(uint64_t seed) {
    RandomProblem problem(seed);
    ffpa_jit_attention_args args = problem.args();
    args.family = "sdpa";
    args.device_kind = FFPA_JIT_EMULATED_CUDA;
    args.device_index = GetParam();
    const ffpa_jit_status status = ffpa_jit_attention_forward(runtime_, &args);
    if (status == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << ffpa_jit_last_error();
    ASSERT_EQ(status, FFPA_JIT_OK) << problem.text() << "\n" << ffpa_jit_last_error();
    judge_.expect_right(problem);
  }

  ffpa_jit_runtime* runtime_ = nullptr;
  Judge judge_;
  std::filesystem::path cache_dir_;
};

TEST_P(EmulatedSdpa, RandomProblems) {
  uint64_t first = static_cast<uint64_t>(GetParam()) * 1000, count = 50;
  if (const char* only = std::getenv("FFPA_TEST_SEED")) {
    first = std::strtoull(only, nullptr, 10);
    count = 1;
  }
  for (uint64_t seed = first; seed < first + count && !IsSkipped() && !HasFatalFailure(); ++seed)
    check(seed);
}

INSTANTIATE_TEST_SUITE_P(Capabilities, EmulatedSdpa, testing::Values(75, 80, 90));

}  // namespace
}  // namespace ffpa_jit::properties
