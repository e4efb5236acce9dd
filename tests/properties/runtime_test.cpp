// Random problems through the whole runtime, over the C ABI of the shared library, per family and
// CPU level, against the fp64 reference. A failure prints the problem's seed: FFPA_TEST_SEED=<seed>
// runs that one only.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "ffpa_jit/ffpa_jit.h"
#include "properties/check.h"

namespace ffpa_jit::properties {
namespace {

class Runtime : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "ffpa_properties_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    cache_dir_ = pattern;
  }

  void TearDown() override {
    ffpa_jit_runtime_destroy(runtime_);
    std::filesystem::remove_all(cache_dir_);
  }

  void create() {
    ffpa_jit_runtime_options options = FFPA_JIT_RUNTIME_OPTIONS_INIT;
    const std::string cache_dir = cache_dir_.string();
    options.cache_dir = cache_dir.c_str();
    options.num_threads = 2;
    ASSERT_EQ(ffpa_jit_runtime_create(&options, &runtime_), FFPA_JIT_OK) << ffpa_jit_last_error();
  }

  // Every seed in [first, first + count); one only when FFPA_TEST_SEED is set.
  void check_family(const char* family, uint64_t first, uint64_t count) {
    if (const char* only = std::getenv("FFPA_TEST_SEED")) {
      first = std::strtoull(only, nullptr, 10);
      count = 1;
    }
    for (uint64_t seed = first; seed < first + count; ++seed) {
      RandomProblem problem(seed);
      ffpa_jit_attention_args args = problem.args();
      args.family = family;
      const ffpa_jit_status status = ffpa_jit_attention_forward(runtime_, &args);
      if (status == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << ffpa_jit_last_error();
      ASSERT_EQ(status, FFPA_JIT_OK) << problem.text() << "\n" << ffpa_jit_last_error();
      expect_right(problem);
    }
  }

  ffpa_jit_runtime* runtime_ = nullptr;
  std::filesystem::path cache_dir_;
};

TEST_F(Runtime, PortableFamily) {
  create();
  check_family("portable", 10'000, 150);
}

TEST_F(Runtime, RoutedFamily) {
  create();
  check_family(nullptr, 20'000, 20);
}

TEST_F(Runtime, SdpaFamily) {
  create();
  check_family("sdpa", 30'000, 150);
}

}  // namespace
}  // namespace ffpa_jit::properties
