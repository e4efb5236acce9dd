// Random problems with score modifiers, sinks, lengths and pages on the CPU's families, against the
// fp64 reference. A failure prints the problem's seed: FFPA_TEST_SEED=<seed> runs that one only.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "api/temporary_runtime.h"
#include "ffpa_jit/ffpa_jit.hpp"
#include "properties/check.h"
#include "properties/random_features.h"
#include "reference/attention_reference.h"
#include "reference/comparison.h"

namespace ffpa_jit::properties {
namespace {

class Features : public testing::Test {
 protected:
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
      const ffpa_jit_status status = ffpa_jit_attention_forward(*runtime_, &args);
      if (status == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << ffpa_jit_last_error();
      ASSERT_EQ(status, FFPA_JIT_OK) << problem.text() << "\n" << ffpa_jit_last_error();
      judge_.expect_right(problem);
    }
    judge_.expect_accurate_on_average();
  }

  std::optional<test::TemporaryRuntime> runtime_{std::in_place, 2};
  Judge judge_;
};

TEST_F(Features, Portable) { check_family("portable", 40'000, 100); }
TEST_F(Features, Sdpa) { check_family("sdpa", 41'000, 24); }
TEST_F(Features, SdpaAtTheBaseline) {
  ::setenv("FFPA_JIT_CPU_LEVEL", "x86-64", 1);
  runtime_.emplace(2);
  check_family("sdpa", 42'000, 12);
  ::unsetenv("FFPA_JIT_CPU_LEVEL");
}
// What only the modifier hides is NaN in K and V, in whole blocks of keys and between others.
TEST_F(Features, HiddenByTheModifierAlone) {
  constexpr int64_t kHeads = 2, kRows = 37, kKeys = 300, kDim = 64;
  for (const ffpa_jit_dtype dtype : {FFPA_JIT_BF16, FFPA_JIT_FP32}) {
    std::vector<float> q(kHeads * kRows * kDim), k(kHeads * kKeys * kDim), v(k.size()), o(q.size());
    std::vector<int32_t> shown(kKeys);
    for (int64_t key = 0; key < kKeys; ++key) shown[key] = key >= 140 && key % 3 != 1;
    for (int64_t i = 0; i < kHeads * kRows * kDim; ++i) {
      reference::write_element(q.data(), dtype, i, std::sin(static_cast<float>(i)));
    }
    for (int64_t i = 0; i < kHeads * kKeys * kDim; ++i) {
      const bool seen = shown[i / kDim % kKeys] != 0;
      reference::write_element(k.data(), dtype, i,
                               seen ? std::cos(0.3f * static_cast<float>(i)) : std::nanf(""));
      reference::write_element(v.data(), dtype, i,
                               seen    ? std::sin(0.7f * static_cast<float>(i))
                               : i % 2 ? std::nanf("")
                                       : std::numeric_limits<float>::infinity());
    }
    ffpa::Attention args;
    args.q = ffpa::tensor(q.data(), dtype, {1, kHeads, kRows, kDim});
    args.k = ffpa::tensor(k.data(), dtype, {1, kHeads, kKeys, kDim});
    args.v = ffpa::tensor(v.data(), dtype, {1, kHeads, kKeys, kDim});
    args.o = ffpa::tensor(o.data(), dtype, {1, kHeads, kRows, kDim});
    args.score_modifier = "t0[k] != 0 && q != 5 ? score : -inf";
    args.modifier_tensors[0] = ffpa::tensor(shown.data(), FFPA_JIT_INT32, {kKeys});
    const reference::AttentionResult expected = reference::attention_reference(args);
    const double bar = reference::error_bar(
        reference::relative_error(reference::plain_attention(args).o, expected.o),
        dtype == FFPA_JIT_FP32 ? DType::kFp32 : DType::kBf16, kHeads * kRows);
    struct Kernel {
      const char* family;
      int device;
    };
    for (const Kernel& kernel :
         {Kernel{"portable", 0}, {"sdpa", 0}, {"sdpa", 80}, {nullptr, 80}, {nullptr, 90}}) {
      args.family = kernel.family;
      args.device_kind = kernel.device ? FFPA_JIT_EMULATED_CUDA : FFPA_JIT_CPU;
      args.device_index = kernel.device;
      const ffpa_jit_status status = ffpa_jit_attention_forward(*runtime_, &args);
      if (status == FFPA_JIT_NO_COMPILER) continue;
      ASSERT_EQ(status, FFPA_JIT_OK) << ffpa_jit_last_error();
      EXPECT_LE(reference::relative_error(reference::read_result(args).o, expected.o), bar)
          << (kernel.family ? kernel.family : "routed") << " " << kernel.device << " dtype "
          << dtype;
    }
  }
}

TEST_F(Features, EmulatedSdpa) { check_family("sdpa", 43'000, 16, 80); }
TEST_F(Features, EmulatedRouted) { check_family(nullptr, 44'000, 12, 80); }

}  // namespace
}  // namespace ffpa_jit::properties
