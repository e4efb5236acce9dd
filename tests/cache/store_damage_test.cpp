// A damaged store: every byte flipped, every truncation, rows and files that lie. The answer is
// always the right bytes or a miss, and a put afterwards works.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <functional>

#include "store_fixture.h"

namespace ffpa_jit {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

void run_sql(const fs::path& file, const std::string& sql) {
  sqlite::Connection::open(file.string(), {}).execute(sql);
}

TEST_F(StoreTest, RowWithWrongBytesIsDroppedAndMissed) {
  const StoredKernel kernel = test_kernel(1);
  for (const char* sql : {
           "UPDATE kernels SET bytes = zeroblob(100)",
           "UPDATE kernels SET bytes = x''",
           "UPDATE kernels SET bytes = 'text'",
           "UPDATE kernels SET raw_bytes = 301",
           "UPDATE kernels SET raw_bytes = 9000000000000000000",
           "UPDATE kernels SET raw_bytes = -1",
           "UPDATE kernels SET digest = zeroblob(16)",
           "UPDATE kernels SET digest = 'short'",
           "UPDATE kernels SET entry = 'backward'",
           "UPDATE kernels SET resources = ''",
           "UPDATE kernels SET compile_ms = 13",
       }) {
    open()->put_kernel(kernel);
    run_sql(file(), sql);
    Warnings warnings;
    SqliteStore store(options_, warnings.logger(), environment_);
    EXPECT_THAT(store.verify().problems, SizeIs(1)) << sql;
    EXPECT_FALSE(store.find_kernel(kernel.key, kernel.compiler)) << sql;
    EXPECT_FALSE(store.find_kernel(kernel.key, kernel.compiler)) << sql;
    EXPECT_EQ(store.statistics().kernels, 0) << sql;
    ASSERT_THAT(warnings.lines(), SizeIs(1)) << sql;
    EXPECT_THAT(warnings.lines()[0], HasSubstr("does not match its digest"));
    EXPECT_TRUE(store.put_kernel(kernel));
    EXPECT_TRUE(same(kernel, store.find_kernel(kernel.key, kernel.compiler).value()));
  }
}

TEST_F(StoreTest, DamagedRowOfOneCompilerDoesNotHideAnothers) {
  auto store = open();
  store->put_kernel(test_kernel(1, 300, "a"));
  store->put_kernel(test_kernel(1, 300, "b"));
  run_sql(file(), "UPDATE kernels SET bytes = x'00' WHERE compiler = 'b'");
  EXPECT_EQ(store->find_kernel(test_kernel(1).key, "b")->compiler, "a");
}

TEST_F(StoreTest, DamagedTuningIsAMiss) {
  auto store = open();
  store->put_tuning(test_tuning(1));
  store->put_tuning(test_tuning(2));
  run_sql(file(), "UPDATE tunings SET median_us = 1 WHERE problem = 'fwd d1'");
  EXPECT_FALSE(store->find_tuning(test_tuning(1).key));
  EXPECT_THAT(store->tunings(""), SizeIs(1));
  EXPECT_THAT(store->verify().problems, SizeIs(1));
  store->put_tuning(test_tuning(1));
  EXPECT_TRUE(store->find_tuning(test_tuning(1).key));
}

TEST_F(StoreTest, DamagedRowInABundleIsIgnoredAndTheBundleLeftAsItIs) {
  const fs::path bundle = temp_.path() / "bundle";
  auto source = open(StoreOptions{.directory = temp_.path() / "source"});
  source->put_kernel(test_kernel(1));
  source->put_kernel(test_kernel(2));
  source->export_to(bundle);
  run_sql(bundle, "UPDATE kernels SET bytes = x'00' WHERE problem = 'fwd d1'");
  const std::string bytes = read_file(bundle);
  options_.bundles = {bundle};
  auto store = open();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(store->find_kernel(test_kernel(1).key, ""));
  EXPECT_TRUE(store->find_kernel(test_kernel(2).key, ""));
  EXPECT_THAT(warnings_.lines(), SizeIs(1));
  EXPECT_EQ(read_file(bundle), bytes);
  const Store::Merged sum = store->merge_from(bundle);
  EXPECT_EQ(sum.added, 1);
  EXPECT_EQ(sum.damaged, 1);
}

TEST_F(StoreTest, GarbageFileIsMovedAsideWithAWarning) {
  for (int round = 1; round <= 12; ++round) {
    fs::create_directories(directory());
    write_file(file(), std::string(5000, 'x') + std::to_string(round));
    Warnings warnings;
    SqliteStore store(options_, warnings.logger(), environment_);
    ASSERT_THAT(warnings.lines(), SizeIs(1));
    EXPECT_THAT(warnings.lines()[0], HasSubstr("damaged-" + std::to_string(std::min(round, 9))));
    EXPECT_TRUE(store.put_kernel(test_kernel(1)));
    EXPECT_TRUE(store.find_kernel(test_kernel(1).key, ""));
  }
  EXPECT_EQ(read_file(file().string() + ".damaged-3"), std::string(5000, 'x') + "3");
}

TEST_F(StoreTest, DamageWhileOpenIsMovedAsideAndTheCallStillAnswers) {
  for (const bool rollback : {false, true}) {
    environment_.file.force_rollback = rollback;
    auto store = open();
    // More than SQLite caches in memory.
    for (int i = 0; i < 30; ++i) store->put_kernel(test_kernel(i, 400'000));
    store->gc(int64_t{1} << 40);  // everything is in the file itself
    const std::string good = read_file(file());
    // In place, as a bad disk would: the same inode.
    std::fstream out(file(), std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(100);
    for (size_t i = 100; i < good.size(); ++i) out.put('\x5a');
    out.close();
    for (int i = 0; i < 30; ++i) {
      if (auto found = store->find_kernel(test_kernel(i).key, "")) {
        EXPECT_TRUE(same(test_kernel(i, 400'000), *found));
      }
      EXPECT_TRUE(store->put_kernel(test_kernel(i, 400'000)));
      EXPECT_TRUE(store->find_kernel(test_kernel(i).key, ""));
    }
    EXPECT_TRUE(fs::exists(file().string() + ".damaged-1"));
    EXPECT_THAT(store->verify().problems, IsEmpty());
    store->clear();
  }
}

TEST_F(StoreTest, FileDeletedWhileOpenIsBegunAnew) {
  auto store = open();
  store->put_kernel(test_kernel(1));
  fs::remove_all(directory());
  EXPECT_FALSE(store->find_kernel(test_kernel(1).key, ""));
  EXPECT_TRUE(store->put_kernel(test_kernel(1)));
  EXPECT_TRUE(open()->find_kernel(test_kernel(1).key, ""));
  EXPECT_THAT(warnings_.lines(), IsEmpty());
}

TEST_F(StoreTest, ProcessesThatSeeTheDamageTogetherMoveItAsideOnce) {
  fs::create_directories(directory());
  for (int round = 0; round < 10; ++round) {
    open()->put_kernel(test_kernel(500));
    constexpr int kProcesses = 8;
    int start[2];
    ASSERT_EQ(::pipe(start), 0);
    std::vector<pid_t> children;
    for (int p = 0; p < kProcesses; ++p) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::close(start[1]);
        // Half of them have the file open when it is hit.
        std::unique_ptr<SqliteStore> store;
        if (p % 2) {
          store = open();
          store->find_kernel(test_kernel(500).key, "");
        }
        char go = 0;
        while (::read(start[0], &go, 1) < 0) {
        }
        if (!store) store = open();
        bool put = store->put_kernel(test_kernel(p));
        bool found = store->find_kernel(test_kernel(p).key, "").has_value();
        if (!found && p % 2) {
          // Put into the damaged file's journal just before another process moved the file: a miss,
          // and the next put lands in the new file.
          put = store->put_kernel(test_kernel(p));
          found = store->find_kernel(test_kernel(p).key, "").has_value();
        }
        store.reset();
        ::_exit(put && found ? 0 : 1);
      }
      children.push_back(child);
    }
    ::close(start[0]);
    ::usleep(30'000);
    std::fstream out(file(), std::ios::binary | std::ios::in | std::ios::out);
    for (int i = 0; i < 8192; ++i) out.put('\x5a');
    out.close();
    ::close(start[1]);
    for (const pid_t child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
    // Nobody moved a good file away: what was put after the damage lies there now. (A process that
    // had the damaged file open may have put its kernel there just before another moved it.)
    auto store = open();
    for (int p = 0; p < kProcesses; p += 2) {
      EXPECT_TRUE(store->find_kernel(test_kernel(p).key, ""))
          << "round " << round << ", process " << p;
    }
    EXPECT_TRUE(fs::exists(file().string() + ".damaged-1"));
    EXPECT_FALSE(fs::exists(file().string() + ".damaged-2"));
    store->clear();
  }
}

// ---- every byte ----

class StoreByteTest : public StoreTest {
 protected:
  // A whole store in few pages, so that all of it can be tried.
  std::string small_store() {
    environment_.file.page_size = 512;
    {
      auto store = open();
      store->put_kernel(test_kernel(1, 200));
      store->put_kernel(test_kernel(2, 700));
      store->put_tuning(test_tuning(1));
    }
    return read_file(file());
  }

  // Lays `bytes` down as the cache file and uses it; false (with the failure noted) if an answer is
  // wrong.
  void use(const std::string& bytes) {
    for (const auto& entry : fs::directory_iterator(directory())) fs::remove(entry.path());
    write_file(file(), bytes);
    bool kept = false;
    {
      SqliteStore store(options_, null_logger(), environment_);
      for (const auto& [seed, size] : {std::pair{1, 200}, std::pair{2, 700}}) {
        const StoredKernel kernel = test_kernel(seed, size);
        if (auto found = store.find_kernel(kernel.key, kernel.compiler)) {
          EXPECT_TRUE(same(kernel, *found));
        }
      }
      if (auto found = store.find_tuning(test_tuning(1).key)) {
        EXPECT_EQ(digest_of(*found), digest_of(test_tuning(1)));
      }
      const StoredKernel third = test_kernel(3, 400);
      if (++uses_ % 8 == 0) {  // starts a thread, which would dominate the test
        EXPECT_TRUE(store.acquire_lease(third.key, third.compiler, std::chrono::milliseconds(0)));
      }
      kept = store.put_kernel(third);
      const auto found = store.find_kernel(third.key, third.compiler);
      EXPECT_TRUE(found && same(third, *found));
      const StoredKernel first = test_kernel(1, 200);
      kept = store.put_kernel(first) && kept;
      const auto again = store.find_kernel(first.key, first.compiler);
      EXPECT_TRUE(again && same(first, *again));
      store.list();
      store.verify();
    }
    if (!kept) return;
    SqliteStore store(options_, null_logger(), environment_);
    const auto found = store.find_kernel(test_kernel(1, 200).key, "nvrtc 13.0");
    EXPECT_TRUE(found && same(test_kernel(1, 200), *found)) << "kept, then lost";
  }

  int uses_ = 0;
};

TEST_F(StoreByteTest, EverySingleByteFlip) {
  const std::string good = small_store();
  ASSERT_LT(good.size(), 30'000u);
  for (size_t i = 0; i < good.size() && !HasFailure(); ++i) {
    std::string bytes = good;
    // One bit in most places (the subtle case), all bits in the others.
    bytes[i] = static_cast<char>(bytes[i] ^ (i % 3 == 0 ? 0xff : 1 << (i % 8)));
    use(bytes);
    if (HasFailure()) ADD_FAILURE() << "byte " << i << " of " << good.size();
  }
}

TEST_F(StoreByteTest, EveryTruncation) {
  const std::string good = small_store();
  for (size_t size = 0; size < good.size() && !HasFailure(); size += size < 600 ? 1 : 13) {
    use(good.substr(0, size));
    if (HasFailure()) ADD_FAILURE() << "truncated to " << size << " of " << good.size();
  }
}

// The same for the write-ahead log that a killed process leaves: SQLite's own checksums guard it.
TEST_F(StoreByteTest, EveryFifthByteFlipOfTheLog) {
  environment_.file.page_size = 512;
  const fs::path log = file().string() + "-wal";
  auto store = open();
  store->put_kernel(test_kernel(1, 200));
  const std::string good = read_file(file());
  const std::string good_log = read_file(log);
  ASSERT_GT(good_log.size(), 1000u);
  store.reset();
  for (size_t i = 0; i < good_log.size() && !HasFailure(); i += i < 100 ? 1 : 5) {
    fs::remove_all(directory());
    fs::create_directory(directory());
    write_file(file(), good);
    std::string bytes = good_log;
    bytes[i] = static_cast<char>(bytes[i] ^ 0xff);
    write_file(log, bytes);
    SqliteStore flipped(options_, null_logger(), environment_);
    const StoredKernel kernel = test_kernel(1, 200);
    if (auto found = flipped.find_kernel(kernel.key, "")) {
      EXPECT_TRUE(same(kernel, *found));
    }
    EXPECT_TRUE(flipped.put_kernel(kernel)) << "byte " << i;
    EXPECT_TRUE(flipped.find_kernel(kernel.key, "")) << "byte " << i;
  }
}

}  // namespace
}  // namespace ffpa_jit
