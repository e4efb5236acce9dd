// The C ABI end to end on the CPU: right results, plans, empty sizes, caching, logging, several
// threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "api/attention_fixture.h"
#include "reference/attention_reference.h"
#include "reference/comparison.h"

namespace ffpa_jit::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class AttentionApi : public ::testing::Test {
 protected:
  ffpa::RuntimeOptions quiet() const {
    ffpa::RuntimeOptions options;
    options.cache_dir = directory_.path().string();
    options.log = [](ffpa_jit_log_level, std::string_view) {};
    return options;
  }

  static void expect_right(const SmallCall& call) {
    const reference::AttentionResult want = reference::attention_reference(call.args);
    const reference::AttentionResult got = reference::read_result(call.args);
    EXPECT_LT(reference::relative_error(got.o, want.o), 1e-5);
    EXPECT_LT(reference::relative_error(got.lse, want.lse), 1e-5);
  }

  TemporaryDirectory directory_;
};

TEST_F(AttentionApi, ComputesWhatTheReferenceComputes) {
  ffpa::Runtime runtime(quiet());
  SmallCall call;
  runtime.forward(call.args);
  expect_right(call);
}

TEST_F(AttentionApi, ForcedPortableFamily) {
  ffpa::Runtime runtime(quiet());
  SmallCall call;
  call.args.family = "portable";
  runtime.forward(call.args);
  expect_right(call);
  EXPECT_STREQ(runtime.prepare(call.args).info().family, "portable");
}

// What was asked for cannot serve: the fallback does, and says so, once.
TEST_F(AttentionApi, AFamilyThatCannotServeIsReplacedAloud) {
  std::vector<std::string> warnings;
  ffpa::RuntimeOptions options = quiet();
  options.log = [&](ffpa_jit_log_level level, std::string_view message) {
    if (level == FFPA_JIT_LOG_WARNING) warnings.emplace_back(message);
  };
  ffpa::Runtime runtime(options);
  SmallCall call;
  if (std::string(runtime.prepare(call.args).info().family) != "sdpa") {
    GTEST_SKIP() << "no compiler on this machine: what would replace the family cannot be built";
  }
  call.args.family = "mma";
  runtime.forward(call.args);
  runtime.forward(call.args);
  expect_right(call);
  const ffpa::Plan plan = runtime.prepare(call.args);
  EXPECT_STREQ(plan.info().route, "forced-family-unavailable");
  EXPECT_STRNE(plan.info().family, "mma");
  EXPECT_THAT(warnings, ::testing::Contains(HasSubstr("mma was asked for (by the call) and cannot "
                                                      "serve")));
  EXPECT_EQ(std::count_if(warnings.begin(), warnings.end(),
                          [](const std::string& w) { return w.find("mma") != w.npos; }),
            1);
}

TEST_F(AttentionApi, PlansSayWhatServesAndWhy) {
  ffpa::Runtime runtime(quiet());
  SmallCall call;
  call.args.q.data = call.args.k.data = call.args.v.data = call.args.o.data = nullptr;
  call.args.lse.data = nullptr;
  const ffpa::Plan plan = runtime.prepare(call.args);
  const ffpa_jit_plan_info info = plan.info();
  EXPECT_STREQ(info.device, "cpu");
  EXPECT_THAT(info.target, StartsWith("cpu:"));
  EXPECT_THAT(info.problem, HasSubstr("forward fp32 d=8 dv=8"));
  EXPECT_STRNE(info.family, "");
  EXPECT_STRNE(info.route, "");
  EXPECT_STRNE(info.reason, "");
}

TEST_F(AttentionApi, SecondRuntimeFindsTheKernelInTheCache) {
  SmallCall call;
  {
    ffpa::Runtime first(quiet());
    if (std::string(first.prepare(call.args).info().family) != "sdpa") {
      GTEST_SKIP() << "no compiler on this machine: nothing is cached";
    }
  }
  ffpa::Runtime second(quiet());
  const ffpa::Plan plan = second.prepare(call.args);
  EXPECT_EQ(plan.info().cache_hit, 1);
  EXPECT_EQ(plan.info().compile_ms, 0);
  second.forward(call.args);
  expect_right(call);
}

TEST_F(AttentionApi, CacheThatCannotBeUsedDoesNotStopACall) {
  std::string lines;
  std::mutex mutex;
  ffpa::RuntimeOptions options = quiet();
  options.cache_dir = "/proc/ffpa_jit";
  options.log = [&](ffpa_jit_log_level, std::string_view line) {
    std::lock_guard lock(mutex);
    lines.append(line).append("\n");
  };
  ffpa::Runtime runtime(std::move(options));
  SmallCall call;
  runtime.forward(call.args);
  expect_right(call);
  EXPECT_THAT(lines, HasSubstr("/proc/ffpa_jit"));
}

TEST_F(AttentionApi, EmptySizesAreNotErrors) {
  ffpa::Runtime runtime(quiet());
  const auto run = [&](auto change) {
    SmallCall call;
    change(call.args);
    runtime.forward(call.args);
    return call;
  };
  run([](ffpa::Attention& a) {
    a.q.sizes[0] = a.k.sizes[0] = a.v.sizes[0] = a.o.sizes[0] = a.lse.sizes[0] = 0;
  });
  run([](ffpa::Attention& a) { a.q.sizes[1] = a.o.sizes[1] = a.lse.sizes[1] = 0; });
  run([](ffpa::Attention& a) { a.q.sizes[2] = a.o.sizes[2] = a.lse.sizes[2] = 0; });
  // No keys: every row sees nothing, so O is 0 and LSE is -inf.
  const SmallCall no_keys = run([](ffpa::Attention& a) { a.k.sizes[2] = a.v.sizes[2] = 0; });
  EXPECT_THAT(no_keys.o, ::testing::Each(0.0f));
  EXPECT_THAT(no_keys.lse, ::testing::Each(-std::numeric_limits<float>::infinity()));
}

// Q, K, V and O as slices of one buffer [B, N, 4, H, D]: their address ranges cross, their elements
// do not.
TEST_F(AttentionApi, OutputMayBeASliceOfTheFusedBuffer) {
  constexpr int64_t B = 2, N = 6, H = 2, D = 8, kSlot = H * D, kRow = 4 * kSlot;
  std::vector<float> fused(B * N * kRow);
  for (size_t i = 0; i < fused.size(); ++i) fused[i] = std::sin(0.1f * static_cast<float>(i));
  ffpa::Attention args;
  args.layout = FFPA_JIT_BNHD;
  const auto slice = [&](int64_t slot) {
    return ffpa::tensor(fused.data() + slot * kSlot, FFPA_JIT_FP32, {B, N, H, D},
                        {N * kRow, kRow, D, 1});
  };
  args.q = slice(0);
  args.k = slice(1);
  args.v = slice(2);
  args.o = slice(3);
  const reference::AttentionResult want = reference::attention_reference(args);
  ffpa::Runtime runtime(quiet());
  runtime.forward(args);
  EXPECT_LT(reference::relative_error(reference::read_result(args).o, want.o), 1e-5);
}

TEST_F(AttentionApi, ThreadsShareOneRuntime) {
  std::atomic<int> compiles = 0;
  ffpa::RuntimeOptions options = quiet();
  options.log_level = FFPA_JIT_LOG_INFO;
  options.log = [&](ffpa_jit_log_level, std::string_view line) {
    if (line.starts_with("compiled ")) ++compiles;
  };
  ffpa::Runtime runtime(std::move(options));
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 4; ++i) {
        SmallCall call;
        runtime.forward(call.args);
        expect_right(call);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(compiles, 1);
}

TEST_F(AttentionApi, SeveralRuntimesInOneProcess) {
  ffpa::RuntimeOptions options = quiet();
  options.num_threads = 1;
  ffpa::Runtime one(quiet()), other(std::move(options));
  SmallCall a, b;
  one.forward(a.args);
  other.forward(b.args);
  EXPECT_EQ(a.o, b.o);
}

TEST_F(AttentionApi, ALoggerThatThrowsIsHarmless) {
  ffpa::RuntimeOptions options = quiet();
  options.log_level = FFPA_JIT_LOG_DEBUG;
  options.log = [](ffpa_jit_log_level, std::string_view) { throw std::runtime_error("no"); };
  ffpa::Runtime runtime(std::move(options));
  SmallCall call;
  runtime.forward(call.args);
  expect_right(call);
}

TEST_F(AttentionApi, CudaWithoutADriverIsExplained) {
  ffpa::Runtime runtime(quiet());
  SmallCall call;
  call.args.device_kind = FFPA_JIT_CUDA;
  call.args.device_index = 63;
  EXPECT_EQ(ffpa_jit_attention_forward(runtime.get(), &call.args), FFPA_JIT_NO_DEVICE);
  EXPECT_STRNE(ffpa_jit_last_error(), "");
}

}  // namespace
}  // namespace ffpa_jit::testing
