// Random problems with score modifiers, sinks, lengths and pages on the CPU's families, against the
// fp64 reference. A failure prints the problem's seed: FFPA_TEST_SEED=<seed> runs that one only.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "ffpa_jit/ffpa_jit.h"
#include "properties/check.h"
#include "properties/random_features.h"

namespace ffpa_jit::properties {
namespace {

class Features : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "ffpa_features_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    cache_dir_ = pattern;
    ffpa_jit_runtime_options options = FFPA_JIT_RUNTIME_OPTIONS_INIT;
    options.cache_dir = pattern.c_str();
    options.num_threads = 2;
    ASSERT_EQ(ffpa_jit_runtime_create(&options, &runtime_), FFPA_JIT_OK) << ffpa_jit_last_error();
  }
  void TearDown() override {
    ffpa_jit_runtime_destroy(runtime_);
    std::filesystem::remove_all(cache_dir_);
  }

  void check_family(const char* family, uint64_t first, uint64_t count, int device = 0) {
    if (const char* only = std::getenv("FFPA_TEST_SEED")) {
      first = std::strtoull(only, nullptr, 10);
      count = 1;
    }
    for (uint64_t seed = first; seed < first + count; ++seed) {
      RandomFeatures problem(seed);
      ffpa_jit_attention_args args = problem.args();
      args.family = family;
      if (device) {
        args.device_kind = FFPA_JIT_EMULATED_CUDA;
        args.device_index = device;
      }
      const ffpa_jit_status status = ffpa_jit_attention_forward(runtime_, &args);
      if (status == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << ffpa_jit_last_error();
      ASSERT_EQ(status, FFPA_JIT_OK) << problem.text() << "\n" << ffpa_jit_last_error();
      judge_.expect_right(problem);
    }
    judge_.expect_accurate_on_average();
  }

  ffpa_jit_runtime* runtime_ = nullptr;
  std::filesystem::path cache_dir_;
  Judge judge_;
};

TEST_F(Features, Portable) { check_family("portable", 40'000, 100); }
TEST_F(Features, Sdpa) { check_family("sdpa", 41'000, 24); }
TEST_F(Features, SdpaAtTheBaseline) {
  ::setenv("FFPA_JIT_CPU_LEVEL", "x86-64", 1);
  ffpa_jit_runtime_destroy(runtime_);
  SetUp();
  check_family("sdpa", 42'000, 12);
  ::unsetenv("FFPA_JIT_CPU_LEVEL");
}
TEST_F(Features, EmulatedSdpa) { check_family("sdpa", 43'000, 16, 80); }
TEST_F(Features, EmulatedRouted) { check_family(nullptr, 44'000, 12, 80); }

}  // namespace
}  // namespace ffpa_jit::properties
