#include "base/log.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ffpa_jit {
namespace {

TEST(Logger, GivesLevelAndTextToTheCallback) {
  std::vector<std::pair<spdlog::level::level_enum, std::string>> lines;
  const Logger log = make_logger(spdlog::level::info, [&](auto level, std::string_view message) {
    lines.emplace_back(level, message);
  });
  log->debug("below the level");
  log->info("compiled {} in {} ms", "k", 27);
  log->error("100% {}");  // text alone is not a format
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].first, spdlog::level::info);
  EXPECT_EQ(lines[0].second, "compiled k in 27 ms");
  EXPECT_EQ(lines[1].first, spdlog::level::err);
  EXPECT_EQ(lines[1].second, "100% {}");
}

TEST(Logger, SwallowsWhatTheCallbackThrows) {
  int calls = 0;
  const Logger log = make_logger(spdlog::level::debug, [&](auto, std::string_view) {
    if (++calls == 1) throw std::runtime_error("the host's fault");
    if (calls == 2) throw std::string("not even an exception type");
  });
  ::testing::internal::CaptureStderr();
  EXPECT_NO_THROW(log->warn("one"));
  EXPECT_NO_THROW(log->warn("two"));
  EXPECT_NO_THROW(log->warn("three"));
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Logger, CallsBackOneLineAtATime) {
  int lines = 0;  // not atomic: the sink serialises
  const Logger log = make_logger(spdlog::level::info, [&](auto, std::string_view) { ++lines; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) log->info("line");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines, 2000);
}

TEST(Logger, OffAndNullSayNothing) {
  int lines = 0;
  make_logger(spdlog::level::off, [&](auto, std::string_view) { ++lines; })->critical("x");
  EXPECT_EQ(lines, 0);
  ::testing::internal::CaptureStderr();
  null_logger()->critical("x");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Logger, WithoutCallbackWritesToStderr) {
  ::testing::internal::CaptureStderr();
  make_logger(spdlog::level::warn)->warn("cache is read-only");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "ffpa_jit warning: cache is read-only\n");
}

}  // namespace
}  // namespace ffpa_jit
