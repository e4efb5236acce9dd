// A store shared by processes: one compile per kernel, kill -9, forks, leases of the living and the
// dead.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "store_fixture.h"

namespace ffpa_jit {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr milliseconds kLongLimit(60'000);

// The child's failures become its exit status; its temporary directory is not its own to delete.
pid_t in_child(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(100);
  body();
  ::_exit(::testing::Test::HasFailure() ? 1 : 0);
}

void expect_success(pid_t child) {
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

double ms_since(steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - start).count();
}

class SharingTest : public StoreTest, public ::testing::WithParamInterface<bool> {
 protected:
  SharingTest() { environment_.file.force_rollback = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Journals, SharingTest, ::testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Rollback" : "Wal"; });

// What the runtime does: look, ask for the lease, compile under it, look again otherwise.
StoredKernel find_or_compile(Store& store, int seed, int log) {
  const StoredKernel kernel = test_kernel(seed, 20'000);
  for (;;) {
    if (auto found = store.find_kernel(kernel.key, kernel.compiler)) return *found;
    auto lease = store.acquire_lease(kernel.key, kernel.compiler, kLongLimit);
    if (!lease) continue;
    const auto line = static_cast<unsigned char>(seed);
    EXPECT_EQ(::write(log, &line, 1), 1);  // O_APPEND: whole and in some order
    std::this_thread::sleep_for(milliseconds(5));
    EXPECT_TRUE(store.put_kernel(kernel));
  }
}

TEST_P(SharingTest, EightProcessesOfFourThreadsCompileEachKernelOnce) {
  constexpr int kProcesses = 8, kThreads = 4, kKernels = 12;
  const fs::path log_file = temp_.path() / "compiles";
  const int log = ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    children.push_back(in_child([&] {
      auto store = open();
      std::vector<std::thread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
          for (int i = 0; i < kKernels; ++i) {
            const int seed = (i + 3 * t + p) % kKernels;
            EXPECT_TRUE(same(find_or_compile(*store, seed, log), test_kernel(seed, 20'000)));
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
      EXPECT_THAT(warnings_.lines(), IsEmpty()) << warnings_.text();
    }));
  }
  for (const pid_t child : children) expect_success(child);
  ::close(log);
  std::map<int, int> compiles;
  for (const char line : read_file(log_file)) ++compiles[line];
  EXPECT_THAT(compiles, SizeIs(kKernels));
  for (const auto& [seed, count] : compiles) EXPECT_EQ(count, 1) << "kernel " << seed;
  auto store = open();
  EXPECT_EQ(store->statistics().compiles, kKernels);
  EXPECT_THAT(store->verify().problems, IsEmpty());
}

TEST_P(SharingTest, KilledWritersLoseNothingThatWasKept) {
  const int rounds = GetParam() ? 15 : 60;
  std::mt19937 random(7);
  std::vector<int> kept;
  int next = 0;
  for (int round = 0; round < rounds; ++round) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = in_child([&] {
      auto store = open();
      for (int i = next;; ++i) {
        if (!store->put_kernel(test_kernel(i, 3000 + i % 50'000))) ::_exit(1);
        if (::write(pipe[1], &i, sizeof(i)) != sizeof(i)) ::_exit(2);
      }
    });
    ::close(pipe[1]);
    ::usleep(500 + random() % 25'000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (int i = 0; ::read(pipe[0], &i, sizeof(i)) == sizeof(i);) {
      kept.push_back(i);
      next = i + 1;
    }
    ::close(pipe[0]);
    auto store = open();
    // The latest at once, all of them at the end.
    for (size_t i = kept.size() > 5 ? kept.size() - 5 : 0; i < kept.size(); ++i) {
      const StoredKernel kernel = test_kernel(kept[i], 3000 + kept[i] % 50'000);
      const auto found = store->find_kernel(kernel.key, kernel.compiler);
      ASSERT_TRUE(found && same(kernel, *found)) << "round " << round << ", kernel " << kept[i];
    }
  }
  auto store = open();
  for (const int i : kept) {
    const StoredKernel kernel = test_kernel(i, 3000 + i % 50'000);
    const auto found = store->find_kernel(kernel.key, kernel.compiler);
    ASSERT_TRUE(found && same(kernel, *found)) << "kernel " << i;
  }
  EXPECT_THAT(store->verify().problems, IsEmpty());
  EXPECT_GT(kept.size(), 20u);
  EXPECT_THAT(warnings_.lines(), IsEmpty()) << warnings_.text();
}

// ---- leases ----

TEST_P(SharingTest, SecondThreadAndSecondStoreWaitForTheLease) {
  auto store = open();
  auto other = open();
  const StoredKernel kernel = test_kernel(1);
  auto lease = store->acquire_lease(kernel.key, kernel.compiler, kLongLimit);
  ASSERT_TRUE(lease);
  EXPECT_FALSE(store->acquire_lease(kernel.key, kernel.compiler, milliseconds(0)));
  EXPECT_FALSE(other->acquire_lease(kernel.key, kernel.compiler, milliseconds(0)));
  EXPECT_TRUE(store->acquire_lease(kernel.key, "another compiler", milliseconds(0)));
  EXPECT_TRUE(store->acquire_lease(test_kernel(2).key, kernel.compiler, milliseconds(0)));

  // The limit is kept.
  auto start = steady_clock::now();
  EXPECT_FALSE(other->acquire_lease(kernel.key, kernel.compiler, milliseconds(120)));
  EXPECT_GE(ms_since(start), 119);
  EXPECT_LT(ms_since(start), 1500);

  // The waiter wakes when the kernel is there, and gets no lease.
  std::thread waiter([&] {
    EXPECT_FALSE(store->acquire_lease(kernel.key, kernel.compiler, kLongLimit));
    EXPECT_TRUE(store->find_kernel(kernel.key, kernel.compiler));
  });
  std::this_thread::sleep_for(milliseconds(30));
  store->put_kernel(kernel);
  waiter.join();
  lease.reset();
  EXPECT_FALSE(store->acquire_lease(kernel.key, kernel.compiler, kLongLimit))
      << "nothing to compile";
}

TEST_P(SharingTest, WaiterGetsTheLeaseOfAFailedCompile) {
  auto store = open();
  auto lease = store->acquire_lease(test_kernel(1).key, "c", kLongLimit);
  std::thread waiter(
      [&] { EXPECT_TRUE(store->acquire_lease(test_kernel(1).key, "c", kLongLimit)); });
  std::this_thread::sleep_for(milliseconds(20));
  lease.reset();
  waiter.join();
}

TEST_P(SharingTest, LeaseOfADeadProcessIsTakenOverAtOnce) {
  for (const bool reaped : {true, false}) {
    const Hash128 key = test_kernel(reaped).key;
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = in_child([&] {
      auto store = open();
      auto lease = store->acquire_lease(key, "c", kLongLimit);
      EXPECT_TRUE(lease);
      EXPECT_EQ(::write(pipe[1], "x", 1), 1);
      ::pause();
    });
    char got = 0;
    ASSERT_EQ(::read(pipe[0], &got, 1), 1);
    auto store = open();
    EXPECT_FALSE(store->acquire_lease(key, "c", milliseconds(30))) << "its holder lives";
    ::kill(child, SIGKILL);
    siginfo_t info;
    ASSERT_EQ(::waitid(P_PID, child, &info, WEXITED | (reaped ? 0 : WNOWAIT)), 0);
    const auto start = steady_clock::now();
    EXPECT_TRUE(store->acquire_lease(key, "c", kLongLimit));
    EXPECT_LT(ms_since(start), 2000) << "must not wait for the lease of 30 s to expire";
    if (!reaped) ::waitpid(child, nullptr, 0);
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
}

TEST_P(SharingTest, ReusedPidAndForeignHostAreToldApart) {
  auto store = open();
  const Hash128 key = test_kernel(1).key;
  const auto lay_down = [&](ProcessIdentity holder, int64_t expires_in_ms) {
    Database database(sqlite::Connection::open(file().string(), {}));
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    LeaseRow row;
    row.key = key;
    row.compiler = "c";
    row.holder = std::move(holder);
    row.token = 1;
    row.expires_ms = std::chrono::duration_cast<milliseconds>(now).count() + expires_in_ms;
    database.put_lease(row);
  };
  const ProcessIdentity self = this_process();
  ASSERT_GT(self.started, 0);
  lay_down({self.host, self.pid, self.started}, 20'000);
  EXPECT_FALSE(store->acquire_lease(key, "c", milliseconds(5)));
  lay_down({self.host, self.pid, self.started - 1}, 20'000);  // our pid, an earlier process
  EXPECT_TRUE(store->acquire_lease(key, "c", milliseconds(5)));
  lay_down({"another host", self.pid, self.started - 1},
           20'000);  // cannot be looked at: until it expires
  EXPECT_FALSE(store->acquire_lease(key, "c", milliseconds(5)));
  lay_down({"another host", 1, 1}, 150);
  const auto start = steady_clock::now();
  EXPECT_TRUE(store->acquire_lease(key, "c", kLongLimit));
  EXPECT_GE(ms_since(start), 100);
  lay_down({"another host", 1, 1}, -1);
  EXPECT_TRUE(store->acquire_lease(key, "c", milliseconds(0)));
  lay_down({"another host", 1, 1}, 1'000'000'000'000);  // a clock gone wild
  EXPECT_TRUE(store->acquire_lease(key, "c", milliseconds(0)));
}

TEST_P(SharingTest, LeaseIsRenewedWhileHeld) {
  environment_.lease_duration = milliseconds(600);
  environment_.host = "host A";
  auto holder = open();
  auto lease = holder->acquire_lease(test_kernel(1).key, "c", kLongLimit);
  environment_.host = "host B";  // sees only the expiry
  auto other = open();
  EXPECT_FALSE(other->acquire_lease(test_kernel(1).key, "c", milliseconds(1800)));
  lease.reset();
  EXPECT_TRUE(other->acquire_lease(test_kernel(1).key, "c", milliseconds(0)));
}

TEST_F(StoreTest, LeasesWorkInMemory) {
  options_.directory.clear();
  auto store = open();
  auto lease = store->acquire_lease(test_kernel(1).key, "c", milliseconds(0));
  ASSERT_TRUE(lease);
  EXPECT_FALSE(store->acquire_lease(test_kernel(1).key, "c", milliseconds(20)));
  std::thread waiter(
      [&] { EXPECT_FALSE(store->acquire_lease(test_kernel(1).key, "c", kLongLimit)); });
  StoredKernel kernel = test_kernel(1);
  kernel.compiler = "c";
  store->put_kernel(kernel);
  waiter.join();
}

// ---- fork ----

TEST_P(SharingTest, ForkedChildUsesTheFileOnItsOwn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a child that starts threads when its parent had some";
#endif
  auto store = open();
  const StoredKernel kernel = test_kernel(1);
  store->put_kernel(kernel);
  auto lease = store->acquire_lease(test_kernel(9).key, "c", milliseconds(0));
  std::vector<pid_t> children;
  for (int c = 0; c < 6; ++c) {
    children.push_back(in_child([&, c] {
      EXPECT_TRUE(store->find_kernel(kernel.key, kernel.compiler));
      for (int i = 0; i < 20; ++i)
        EXPECT_TRUE(store->put_kernel(test_kernel(100 + 20 * c + i, 5000)));
      EXPECT_FALSE(store->acquire_lease(test_kernel(9).key, "c", milliseconds(5)))
          << "the parent's";
      EXPECT_TRUE(store->acquire_lease(test_kernel(50 + c).key, "c", kLongLimit));
      lease.reset();  // the child's copy: frees nothing
      EXPECT_FALSE(store->acquire_lease(test_kernel(9).key, "c", milliseconds(5)));
      store.reset();
    }));
    EXPECT_TRUE(store->put_kernel(test_kernel(1000 + c)));
  }
  for (const pid_t child : children) expect_success(child);
  EXPECT_FALSE(open()->acquire_lease(test_kernel(9).key, "c", milliseconds(5)));
  EXPECT_EQ(store->statistics().kernels, 1 + 6 * 20 + 6);
  EXPECT_THAT(store->verify().problems, IsEmpty());
  EXPECT_THAT(warnings_.lines(), IsEmpty()) << warnings_.text();
}

TEST_P(SharingTest, ForksAmidBusyThreads) {
  auto store = open();
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !stop; ++i) {
        const StoredKernel kernel = test_kernel(t * 1000 + i % 40, 2000);
        EXPECT_TRUE(store->put_kernel(kernel));
        EXPECT_TRUE(store->find_kernel(kernel.key, kernel.compiler));
      }
    });
  }
  for (int c = 0; c < 20; ++c) {
    expect_success(in_child([&] {
      const StoredKernel kernel = test_kernel(10'000 + c);
      EXPECT_TRUE(store->put_kernel(kernel));
      EXPECT_TRUE(store->find_kernel(kernel.key, kernel.compiler));
    }));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (int c = 0; c < 20; ++c) EXPECT_TRUE(store->find_kernel(test_kernel(10'000 + c).key, ""));
  EXPECT_THAT(store->verify().problems, IsEmpty());
}

}  // namespace
}  // namespace ffpa_jit
