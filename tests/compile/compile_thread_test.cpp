#include "compile/compile_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

#include "compile/compile_fixture.h"

namespace ffpa_jit {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Other tests leave compiles behind, too.
bool none_abandoned() {
  for (int i = 0; i < 60'000 && abandoned_compiles() > 0; ++i) std::this_thread::sleep_for(1ms);
  return abandoned_compiles() == 0;
}

TEST(CompileThread, FinishesAndGivesBackWhatTheJobDid) {
  auto value = std::make_shared<int>(0);
  EXPECT_EQ(run_compile({}, [value](const std::atomic<bool>&) { *value = 7; }),
            CompileEnd::kFinished);
  EXPECT_EQ(*value, 7);
  EXPECT_EQ(value.use_count(), 1) << "the job's captures must be gone";
}

TEST(CompileThread, RethrowsWhatTheJobThrew) {
  EXPECT_THROW(run_compile({}, [](const std::atomic<bool>&) { throw std::runtime_error("x"); }),
               std::runtime_error);
}

TEST(CompileThread, AJobThatLooksIsEndedAtItsLimit) {
  ASSERT_TRUE(none_abandoned());
  const auto begin = Clock::now();
  const CompileEnd end = run_compile({100ms, {}}, [](const std::atomic<bool>& cancelled) {
    while (!cancelled) std::this_thread::sleep_for(1ms);
  });
  EXPECT_EQ(end, CompileEnd::kTimedOut);
  EXPECT_LT(test::seconds_since(begin), 0.8);
  EXPECT_EQ(abandoned_compiles(), 0);
}

TEST(CompileThread, AJobThatDoesNotLookIsLeftAndCounted) {
  ASSERT_TRUE(none_abandoned());
  auto release = std::make_shared<std::atomic<bool>>(false);
  const auto begin = Clock::now();
  const CompileEnd end = run_compile({50ms, {}}, [release](const std::atomic<bool>&) {
    while (!*release) std::this_thread::sleep_for(1ms);
  });
  EXPECT_EQ(end, CompileEnd::kTimedOut);
  EXPECT_LT(test::seconds_since(begin), 0.8);
  EXPECT_EQ(abandoned_compiles(), 1);
  *release = true;
  EXPECT_TRUE(none_abandoned());
}

TEST(CompileThread, StopsWhenToldFromAnotherThread) {
  std::stop_source source;
  std::jthread other([&] {
    std::this_thread::sleep_for(50ms);
    source.request_stop();
  });
  const auto begin = Clock::now();
  const CompileEnd end =
      run_compile({60s, source.get_token()}, [](const std::atomic<bool>& cancelled) {
        while (!cancelled) std::this_thread::sleep_for(1ms);
      });
  EXPECT_EQ(end, CompileEnd::kCancelled);
  EXPECT_LT(test::seconds_since(begin), 0.8);
}

TEST(CompileThread, DoesNotStartWhatIsStoppedAlready) {
  std::stop_source source;
  source.request_stop();
  bool ran = false;
  EXPECT_EQ(run_compile({60s, source.get_token()}, [&](const std::atomic<bool>&) { ran = true; }),
            CompileEnd::kCancelled);
  EXPECT_FALSE(ran);
}

TEST(CompileThread, AnUnlimitedTimeLimitDoesNotOverflow) {
  EXPECT_EQ(run_compile({std::chrono::milliseconds::max(), {}}, [](const std::atomic<bool>&) {}),
            CompileEnd::kFinished);
}

}  // namespace
}  // namespace ffpa_jit
