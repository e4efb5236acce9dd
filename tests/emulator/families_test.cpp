// Random problems through the whole runtime on emulated CUDA devices, against the fp64 reference. A
// failure prints the problem's seed: FFPA_TEST_SEED=<seed> runs that one only.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "api/temporary_runtime.h"
#include "ffpa_jit/ffpa_jit.h"
#include "properties/check.h"
#include "properties/random_features.h"

namespace ffpa_jit::properties {
namespace {

class Emulated : public testing::TestWithParam<int> {  // compute capability
 protected:
  void SetUp() override { runtime_.emplace(); }

  struct Choice {
    bool refusals = false;          // problems that the family does not serve are passed over
    int64_t smallest_head_dim = 0;  // the greater of Q's and V's; smaller ones are passed over
  };
  template <typename Problem = RandomProblem>
  void check_family(const char* family, uint64_t first, uint64_t count, const Choice& choice) {
    if (const char* only = std::getenv("FFPA_TEST_SEED")) {
      first = std::strtoull(only, nullptr, 10);
      count = 1;
    }
    for (uint64_t seed = first; count > 0; ++seed) {
      const Problem problem(seed);
      ffpa_jit_attention_args args = problem.args();
      const int64_t head_dim =
          std::max(args.q.sizes[args.q.rank - 1], args.v.sizes[args.v.rank - 1]);
      if (head_dim < choice.smallest_head_dim && seed < first + 10000) continue;
      args.family = family;
      args.device_kind = FFPA_JIT_EMULATED_CUDA;
      args.device_index = GetParam();
      const ffpa_jit_status status = ffpa_jit_attention_forward(*runtime_, &args);
      if (status == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << ffpa_jit_last_error();
      if (status == FFPA_JIT_UNSUPPORTED && choice.refusals && seed < first + 10000) continue;
      ASSERT_EQ(status, FFPA_JIT_OK) << problem.text() << "\n" << ffpa_jit_last_error();
      judge_.expect_right(problem);
      --count;
    }
    judge_.expect_accurate_on_average();
  }

  std::optional<test::TemporaryRuntime> runtime_;
  Judge judge_;
};

// Sanitizers make an emulated thread's every switch slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr uint64_t kProblems = 3;
#else
constexpr uint64_t kProblems = 24;
#endif

class EmulatedWgmma : public Emulated {};
class EmulatedSdpa : public Emulated {};
class EmulatedRouted : public Emulated {};

std::string name_of(const testing::TestParamInfo<int>& info) {
  return "sm_" + std::to_string(info.param);
}

TEST_P(EmulatedSdpa, RandomProblems) {
  check_family("sdpa", static_cast<uint64_t>(GetParam()) * 1000, kProblems * 2 / 3, {});
}
INSTANTIATE_TEST_SUITE_P(Capabilities, EmulatedSdpa, testing::Values(75, 80, 90), name_of);

TEST_P(EmulatedRouted, RandomProblems) {
  check_family(nullptr, static_cast<uint64_t>(GetParam()) * 1000 + 500, kProblems, {});
}
INSTANTIATE_TEST_SUITE_P(Capabilities, EmulatedRouted, testing::Values(80, 89, 90), name_of);

TEST_P(EmulatedWgmma, RandomProblems) {
  check_family("wgmma", 2000, kProblems / 3, {.refusals = true});
}
TEST_P(EmulatedWgmma, WideHeads) {
  check_family("wgmma", 4000, kProblems / 4, {.refusals = true, .smallest_head_dim = 257});
}
TEST_P(EmulatedWgmma, RandomFeatures) {
  check_family<RandomFeatures>("wgmma", 3000, kProblems / 4, {.refusals = true});
}
INSTANTIATE_TEST_SUITE_P(Capabilities, EmulatedWgmma, testing::Values(90), name_of);

// Copies that land at once, and threads in another order.
class EmulatedSchedule : public Emulated {
 protected:
  void SetUp() override {
    ASSERT_EQ(::setenv("FFPA_JIT_EMULATOR_SCHEDULE", schedule(), 1), 0);
    runtime_.emplace();
    ::unsetenv("FFPA_JIT_EMULATOR_SCHEDULE");
  }
  virtual const char* schedule() const = 0;
};
class EmulatedEarly : public EmulatedSchedule {
  const char* schedule() const override { return "early"; }
};
class EmulatedShuffled : public EmulatedSchedule {
  const char* schedule() const override { return "shuffle:11"; }
};
TEST_P(EmulatedEarly, Wgmma) { check_family("wgmma", 5000, kProblems / 8, {.refusals = true}); }
TEST_P(EmulatedShuffled, Wgmma) { check_family("wgmma", 6000, kProblems / 8, {.refusals = true}); }
TEST_P(EmulatedShuffled, WideHeads) {
  check_family("wgmma", 7000, kProblems / 8, {.refusals = true, .smallest_head_dim = 257});
}
INSTANTIATE_TEST_SUITE_P(Capabilities, EmulatedEarly, testing::Values(90), name_of);
INSTANTIATE_TEST_SUITE_P(Capabilities, EmulatedShuffled, testing::Values(90), name_of);

}  // namespace
}  // namespace ffpa_jit::properties
