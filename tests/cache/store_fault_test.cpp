// Faults below SQLite: the N-th write, sync, open, read, lock fails, for every N until the scenario
// passes untouched. Nothing throws, every answer is right, what put_kernel called kept is there
// afterwards.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <map>

#include "base/error.h"
#include "fault_vfs.h"
#include "store_fixture.h"

namespace ffpa_jit {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Fault {
  const char* name;
  unsigned kinds;
  int code;
  bool lasting;
  bool rollback;
};

class StoreFaultTest : public StoreTest, public ::testing::WithParamInterface<Fault> {
 protected:
  StoreFaultTest() {
    FaultVfs::instance().disarm();
    environment_.file.vfs = FaultVfs::kName;
  }
  ~StoreFaultTest() override { FaultVfs::instance().disarm(); }

  static void expect_right(Store& store, const StoredKernel& kernel, bool must) {
    const auto found = store.find_kernel(kernel.key, kernel.compiler);
    if (found) {
      EXPECT_TRUE(same(kernel, *found));
    }
    EXPECT_TRUE(found || !must) << "lost: " << kernel.problem;
  }
};

TEST_P(StoreFaultTest, EveryOperationInTurn) {
  const Fault fault = GetParam();
  environment_.file.force_rollback = fault.rollback;
  options_.busy_timeout = std::chrono::milliseconds(1);
  FaultVfs& vfs = FaultVfs::instance();
  bool fired = true;
  int n = 0;
  while (fired && !HasFailure() && n < 3000) {
    ++n;
    fs::remove_all(directory());
    // What an earlier process left.
    ASSERT_TRUE(open()->put_kernel(test_kernel(1, 3000)));
    std::map<int, bool> kept{{1, true}};
    Warnings warnings;
    // Where reading itself may fail, a kernel in the file may be missed.
    const bool can_read = fault.kinds != FaultVfs::kRead && fault.kinds != FaultVfs::kLock;
    bool reported = false;  // by a named operation, which is enough
    bool before_close = false;
    vfs.arm(fault.kinds, n, fault.code, fault.lasting);
    {
      SqliteStore store(options_, warnings.logger(), environment_);
      expect_right(store, test_kernel(1, 3000), false);
      kept[2] = store.put_kernel(test_kernel(2, 40'000));
      expect_right(store, test_kernel(2, 40'000), can_read);
      if (auto lease =
              store.acquire_lease(test_kernel(3).key, "nvrtc 13.0", std::chrono::milliseconds(3))) {
        kept[3] = store.put_kernel(test_kernel(3, 5000));
        expect_right(store, test_kernel(3, 5000), can_read);
      }
      store.put_tuning(test_tuning(1));
      store.find_tuning(test_tuning(1).key);
      store.statistics();
      store.list();
      reported = !store.verify().problems.empty();
      try {
        store.gc(int64_t{1} << 40);
        store.export_to(temp_.path() / "bundle");
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), FFPA_JIT_CACHE_ERROR);
        reported = true;
      }
      before_close = vfs.fired();
    }
    fired = vfs.fired();
    vfs.disarm();
    std::map<std::string, int> said;
    for (const std::string& line : warnings.lines()) {
      EXPECT_EQ(++said[line], 1) << line;
    }
    if (before_close && fault.lasting) {
      EXPECT_TRUE(reported || !said.empty());
    }
    // The disk is well again.
    auto store = open();
    for (const auto& [seed, was_kept] : kept) {
      expect_right(*store,
                   test_kernel(seed, seed == 1   ? 3000
                                     : seed == 2 ? 40'000
                                                 : 5000),
                   was_kept);
    }
    EXPECT_THAT(store->verify().problems, IsEmpty());
    EXPECT_TRUE(store->put_kernel(test_kernel(4)));
    EXPECT_THAT(warnings_.lines(), IsEmpty()) << warnings_.text();
    if (HasFailure()) ADD_FAILURE() << "fault at operation " << n << "\n" << warnings.text();
  }
  EXPECT_FALSE(fired) << "the scenario never ran to its end";
  EXPECT_GT(n, 1) << "no fault was ever injected";
  RecordProperty("operations", n);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, StoreFaultTest,
    ::testing::Values(
        Fault{"FullOnce", FaultVfs::kWrite, SQLITE_FULL, false, false},
        Fault{"FullLasting", FaultVfs::kWrite, SQLITE_FULL, true, false},
        Fault{"WriteErrorOnce", FaultVfs::kWrite, SQLITE_IOERR, false, false},
        Fault{"SyncErrorOnce", FaultVfs::kSync, SQLITE_IOERR, false, false},
        Fault{"OpenErrorOnce", FaultVfs::kOpen, SQLITE_IOERR, false, false},
        Fault{"OpenErrorLasting", FaultVfs::kOpen, SQLITE_IOERR, true, false},
        Fault{"ReadErrorOnce", FaultVfs::kRead, SQLITE_IOERR, false, false},
        Fault{"ReadErrorLasting", FaultVfs::kRead, SQLITE_IOERR, true, false},
        Fault{"SharedMemoryError", FaultVfs::kSharedMemory, SQLITE_IOERR, true, false},
        Fault{"LockErrorOnce", FaultVfs::kLock, SQLITE_IOERR, false, false},
        Fault{"LockBusyLasting", FaultVfs::kLock, SQLITE_BUSY, true, true},
        Fault{"RollbackFullOnce", FaultVfs::kWrite, SQLITE_FULL, false, true},
        Fault{"RollbackWriteErrorLasting", FaultVfs::kWrite, SQLITE_IOERR, true, true},
        Fault{"RollbackSyncErrorOnce", FaultVfs::kSync, SQLITE_IOERR, false, true},
        Fault{"RollbackReadErrorOnce", FaultVfs::kRead, SQLITE_IOERR, false, true}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(StoreFaultTest, FullDiskKeepsReadingAndWritesAgainWhenThereIsSpace) {
  auto store = open();
  ASSERT_TRUE(store->put_kernel(test_kernel(1)));
  FaultVfs::instance().arm(FaultVfs::kWrite, 1, SQLITE_FULL, true);
  for (int i = 2; i < 6; ++i) EXPECT_FALSE(store->put_kernel(test_kernel(i)));
  for (int i = 1; i < 6; ++i) expect_right(*store, test_kernel(i), true);
  ASSERT_EQ(warnings_.lines().size(), 1u) << warnings_.text();
  EXPECT_THAT(warnings_.text(), HasSubstr("new kernels are kept in memory only"));
  EXPECT_THAT(warnings_.text(), HasSubstr("disk is full"));
  EXPECT_EQ(store->statistics().mode, "wal");
  FaultVfs::instance().disarm();
  EXPECT_TRUE(store->put_kernel(test_kernel(7)));
  store.reset();
  EXPECT_TRUE(open()->find_kernel(test_kernel(7).key, ""));
}

TEST_F(StoreFaultTest, LeasesOrderThreadsWithoutAFile) {
  FaultVfs::instance().arm(FaultVfs::kWrite, 1, SQLITE_FULL, true);
  auto store = open();
  auto lease = store->acquire_lease(test_kernel(1).key, "c", std::chrono::milliseconds(0));
  ASSERT_TRUE(lease);
  EXPECT_FALSE(store->acquire_lease(test_kernel(1).key, "c", std::chrono::milliseconds(5)));
  lease.reset();
  EXPECT_TRUE(store->acquire_lease(test_kernel(1).key, "c", std::chrono::milliseconds(0)));
}

}  // namespace
}  // namespace ffpa_jit
