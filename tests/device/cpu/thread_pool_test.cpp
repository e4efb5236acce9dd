#include "device/cpu/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace ffpa_jit {
namespace {

TEST(ThreadPool, RunsEveryCellOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (uint64_t cells : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> count(cells);
      pool.run(cells, 0, [&](uint64_t i, void*) { ++count[i]; });
      for (uint64_t i = 0; i < cells; ++i)
        ASSERT_EQ(count[i], 1) << "cell " << i << " of " << cells;
    }
  }
}

TEST(ThreadPool, WorkersTakePart) {
  ThreadPool pool(4);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  pool.run(16, 0, [&](uint64_t, void*) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(seen.size(), 4u);
}

TEST(ThreadPool, OneCellRunsOnTheCaller) {
  ThreadPool pool(4);
  std::thread::id where;
  pool.run(1, 0, [&](uint64_t, void*) { where = std::this_thread::get_id(); });
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST(ThreadPool, ScratchIsAlignedAndPrivate) {
  ThreadPool pool(4);
  std::atomic<int> wrong{0};
  for (size_t bytes : {64, 4096, 100}) {
    pool.run(200, bytes, [&](uint64_t i, void* scratch) {
      if (reinterpret_cast<uintptr_t>(scratch) % 64 != 0) ++wrong;
      std::memset(scratch, static_cast<int>(i), bytes);
      std::this_thread::yield();
      for (size_t k = 0; k < bytes; ++k) {
        if (static_cast<unsigned char*>(scratch)[k] != static_cast<unsigned char>(i)) ++wrong;
      }
    });
  }
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, ScratchThatCannotBeHadIsAnError) {
  ThreadPool pool(2);
  EXPECT_THROW(pool.run(2, ~size_t{0}, [](uint64_t, void*) {}), std::runtime_error);
  int ran = 0;
  pool.run(1, 64, [&](uint64_t, void*) { ++ran; });
  EXPECT_EQ(ran, 1);
}

TEST(ThreadPool, AnExceptionReachesTheCallerAndThePoolGoesOn) {
  ThreadPool pool(3);
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_THROW(pool.run(100, 0,
                          [](uint64_t i, void*) {
                            if (i == 17) throw std::runtime_error("cell 17");
                          }),
                 std::runtime_error);
    std::atomic<int> count{0};
    pool.run(100, 0, [&](uint64_t, void*) { ++count; });
    EXPECT_EQ(count, 100);
  }
}

TEST(ThreadPool, ManyCallersAtOnce) {
  ThreadPool pool(4);
  std::vector<std::thread> callers;
  std::atomic<uint64_t> total{0};
  for (int c = 0; c < 6; ++c) {
    callers.emplace_back([&, c] {
      for (int repeat = 0; repeat < 200; ++repeat) {
        std::atomic<uint64_t> sum{0};
        const uint64_t cells = 1 + (repeat * 7 + c) % 40;
        pool.run(cells, 64 * (c + 1), [&](uint64_t i, void*) { sum += i + 1; });
        ASSERT_EQ(sum, cells * (cells + 1) / 2);
        total += cells;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_GT(total, 0u);
}

TEST(ThreadPool, ManyPoolsLiveAndDie) {
  for (int i = 0; i < 50; ++i) {
    ThreadPool pool(3);
    std::atomic<int> count{0};
    pool.run(10, 0, [&](uint64_t, void*) { ++count; });
    ASSERT_EQ(count, 10);
  }
}

#if !defined( \
    __SANITIZE_THREAD__)  // TSan does not support threads in a child of a process with threads
TEST(ThreadPool, AChildProcessGetsItsOwnWorkers) {
  ThreadPool pool(4);
  std::atomic<int> count{0};
  pool.run(100, 0, [&](uint64_t, void*) { ++count; });
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(20);  // a hang ends the child, not the test run
    std::mutex mutex;
    std::set<std::thread::id> seen;
    std::atomic<int> ran{0};
    pool.run(8, 0, [&](uint64_t, void*) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
      ++ran;
    });
    ::_exit(ran == 8 && seen.size() == 4 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  pool.run(100, 0, [&](uint64_t, void*) { ++count; });
  EXPECT_EQ(count, 200);
}
#endif

}  // namespace
}  // namespace ffpa_jit
