#include "runtime/single_flight.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace ffpa_jit {
namespace {

using Flight = SingleFlight<int, int, std::hash<int>>;

TEST(SingleFlight, ComputesOnceForManyThreads) {
  Flight flight;
  std::atomic<int> runs = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&] {
      const auto value = flight.get(7, [&] {
        ++runs;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return std::make_shared<const int>(49);
      });
      EXPECT_EQ(*value, 49);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(*flight.find(7), 49);
  EXPECT_EQ(flight.find(8), nullptr);
}

TEST(SingleFlight, FailureReachesEveryWaiterAndIsForgotten) {
  Flight flight;
  std::atomic<int> failures = 0, started = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      try {
        flight.get(1, [&]() -> Flight::Result {
          ++started;
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          throw std::runtime_error("no compiler");
        });
      } catch (const std::runtime_error&) {
        ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 8);
  EXPECT_GE(started, 1);
  EXPECT_EQ(*flight.get(1, [] { return std::make_shared<const int>(3); }), 3);
}

TEST(SingleFlight, OtherKeysDoNotWait) {
  Flight flight;
  // A computation may itself ask for another key.
  const auto value = flight.get(1, [&] {
    return std::make_shared<const int>(
        1 + *flight.get(2, [] { return std::make_shared<const int>(2); }));
  });
  EXPECT_EQ(*value, 3);
}

}  // namespace
}  // namespace ffpa_jit
