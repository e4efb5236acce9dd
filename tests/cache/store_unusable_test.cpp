// Places where no cache can be kept: the store says so once and serves from memory.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "cache/file_system.h"
#include "cache/schema.h"
#include "store_fixture.h"

namespace ffpa_jit {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uid_t kNobody = 65534;

class UnusableTest : public StoreTest {
 protected:
  // Uses a store as a launch does, and expects memory only, with one warning that says `why`.
  void expect_memory_only(const std::string& why) {
    Warnings warnings;
    SqliteStore store(options_, warnings.logger(), environment_);
    const StoredKernel kernel = test_kernel(1);
    for (int i = 0; i < 3; ++i) {
      EXPECT_FALSE(store.put_kernel(kernel));
      const auto found = store.find_kernel(kernel.key, kernel.compiler);
      EXPECT_TRUE(found && same(kernel, *found));
      EXPECT_FALSE(store.put_tuning(test_tuning(1)));
      EXPECT_TRUE(store.find_tuning(test_tuning(1).key));
      EXPECT_TRUE(store.acquire_lease(test_kernel(2).key, "c", std::chrono::milliseconds(0)));
    }
    const StoreStatistics statistics = store.statistics();
    EXPECT_EQ(statistics.mode, "memory");
    EXPECT_EQ(statistics.path, "");
    EXPECT_THAT(statistics.reason, HasSubstr(why));
    ASSERT_THAT(warnings.lines(), SizeIs(1)) << warnings.text();
    EXPECT_THAT(warnings.lines()[0], AllOf(HasSubstr("memory only"), HasSubstr(why)));
  }

  // Permission bits do not bind root: `body` runs in a child as nobody, who owns the temporary
  // directory.
  void as_nobody(const std::function<void()>& body) {
    if (::geteuid() != 0) return body();
    ASSERT_EQ(::chown(temp_.path().c_str(), kNobody, kNobody), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(3);
      body();
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  }
};

TEST_F(UnusableTest, DirectoryIsAFile) {
  write_file(directory(), "x");
  expect_memory_only("is not a directory");
}

TEST_F(UnusableTest, DirectoryCannotBeMade) {
  options_.directory = "/proc/ffpa_jit/cache";
  expect_memory_only("cannot make directory /proc/ffpa_jit");
}

TEST_F(UnusableTest, MissingParentsAreMade) {
  options_.directory = temp_.path() / "a" / "b" / "c";
  EXPECT_TRUE(open()->put_kernel(test_kernel(1)));
  EXPECT_THAT(warnings_.lines(), IsEmpty());
}

TEST_F(UnusableTest, FileIsADirectory) {
  fs::create_directories(file());
  expect_memory_only("is a directory, not a file");
}

TEST_F(UnusableTest, FileIsASymbolicLink) {
  open()->put_kernel(test_kernel(5));
  const fs::path elsewhere = temp_.path() / "elsewhere";
  fs::rename(file(), elsewhere);
  const std::string before = read_file(elsewhere);
  fs::create_symlink(elsewhere, file());
  expect_memory_only("is a symbolic link");
  EXPECT_EQ(read_file(elsewhere), before);
}

TEST_F(UnusableTest, LockFileIsASymbolicLink) {
  fs::create_directories(directory());
  write_file(temp_.path() / "elsewhere", "precious");
  fs::create_symlink(temp_.path() / "elsewhere", directory() / "cache.lock");
  expect_memory_only("cache.lock");
  EXPECT_EQ(read_file(temp_.path() / "elsewhere"), "precious");
}

TEST_F(UnusableTest, DirectoryMayBeASymbolicLinkToOnesOwn) {
  fs::create_directories(temp_.path() / "scratch");
  fs::create_symlink(temp_.path() / "scratch", directory());
  EXPECT_TRUE(open()->put_kernel(test_kernel(1)));
  EXPECT_TRUE(fs::exists(temp_.path() / "scratch" / "cache.sqlite"));
}

TEST_F(UnusableTest, OthersDirectoryIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  open()->put_kernel(test_kernel(5));
  ASSERT_EQ(::chown(directory().c_str(), 12345, 12345), 0);
  const std::string before = read_file(file());
  expect_memory_only("is owned by user 12345, not by user 0 who runs this");
  EXPECT_EQ(read_file(file()), before);
}

TEST_F(UnusableTest, OthersFileIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  open()->put_kernel(test_kernel(5));
  ASSERT_EQ(::chown(file().c_str(), 12345, 12345), 0);
  const std::string before = read_file(file());
  expect_memory_only("is owned by user 12345, not by user 0 who runs this");
  EXPECT_EQ(read_file(file()), before);
}

TEST_F(UnusableTest, NewerSchemaIsLeftAlone) {
  open()->put_kernel(test_kernel(5));
  sqlite::Connection::open(file().string(), {})
      .execute("PRAGMA user_version=999; CREATE TABLE of_the_future (x)");
  const std::string before = read_file(file());
  expect_memory_only("written by a later version");
  EXPECT_EQ(read_file(file()), before);
}

TEST_F(UnusableTest, OthersDatabaseIsLeftAlone) {
  for (const char* sql :
       {"CREATE TABLE photos (x)", "PRAGMA application_id=77; CREATE TABLE photos (x)"}) {
    fs::remove_all(directory());
    fs::create_directories(directory());
    sqlite::Connection::open(file().string(), {.create = true}).execute(sql);
    const std::string before = read_file(file());
    expect_memory_only("another program's database");
    EXPECT_EQ(read_file(file()), before);
  }
}

TEST_F(UnusableTest, EmptyReadOnlyDirectory) {
  as_nobody([&] {
    fs::create_directories(directory());
    ::chmod(directory().c_str(), 0500);
    expect_memory_only("cache.lock: Permission denied");
    ::chmod(directory().c_str(), 0700);
  });
}

TEST_F(UnusableTest, ReadOnlyDirectoryStillServesWhatItHolds) {
  as_nobody([&] {
    open()->put_kernel(test_kernel(5));
    ::chmod(file().c_str(), 0400);
    ::chmod((directory() / "cache.lock").c_str(), 0400);
    ::chmod(directory().c_str(), 0500);
    const std::string before = read_file(file());
    expect_memory_only("cache.lock: Permission denied");
    auto store = open();
    EXPECT_TRUE(store->find_kernel(test_kernel(5).key, ""));
    EXPECT_EQ(store->export_to(temp_.path() / "exported"), 1);
    EXPECT_EQ(read_file(file()), before);
    ::chmod(directory().c_str(), 0700);
  });
}

TEST_F(UnusableTest, ReadOnlyFileInAWritableDirectory) {
  as_nobody([&] {
    open()->put_kernel(test_kernel(5));
    ::chmod(file().c_str(), 0400);
    expect_memory_only("may not be written");
    EXPECT_TRUE(open()->find_kernel(test_kernel(5).key, ""));
  });
}

// A real limit of the operating system, not a simulated one: writes past it fail with EFBIG.
TEST_F(UnusableTest, FileSizeLimit) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{200'000, 200'000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(3);
    Warnings warnings;
    SqliteStore store(options_, warnings.logger(), environment_);
    int kept = 0;
    for (int i = 0; i < 20; ++i) {
      kept += store.put_kernel(test_kernel(i, 50'000));
      const auto found = store.find_kernel(test_kernel(i).key, "");
      EXPECT_TRUE(found && same(test_kernel(i, 50'000), *found));
    }
    EXPECT_LT(kept, 20);
    EXPECT_THAT(warnings.lines(), SizeIs(1)) << warnings.text();
    ::_exit(HasFailure() ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  EXPECT_THAT(open()->verify().problems, IsEmpty());
}

TEST_F(UnusableTest, StuckLockHolderIsWaitedForOnlySoLong) {
  fs::create_directories(directory());
  const auto held = FileLock::acquire(directory() / "cache.lock", std::chrono::milliseconds(0));
  ASSERT_TRUE(held);
  options_.busy_timeout = std::chrono::milliseconds(50);
  expect_memory_only("for more than 50 ms");
}

TEST_F(UnusableTest, WriterThatNeverEndsDoesNotStopLaunches) {
  open()->put_kernel(test_kernel(5));
  sqlite::Connection writer = sqlite::Connection::open(file().string(), {});
  options_.busy_timeout = std::chrono::milliseconds(20);
  auto store = open();
  writer.execute("BEGIN IMMEDIATE");
  EXPECT_TRUE(store->find_kernel(test_kernel(5).key, ""));
  EXPECT_FALSE(store->put_kernel(test_kernel(1)));
  EXPECT_TRUE(store->find_kernel(test_kernel(1).key, ""));
  EXPECT_FALSE(store->acquire_lease(test_kernel(2).key, "c", std::chrono::milliseconds(50)));
  ASSERT_THAT(warnings_.lines(), SizeIs(1));
  EXPECT_THAT(warnings_.lines()[0], HasSubstr("keeps the cache locked"));
  writer.execute("COMMIT");
  EXPECT_TRUE(store->put_kernel(test_kernel(3)));
}

TEST(FileSystem, LocalAndMissingPathsAreNotNetworkFileSystems) {
  EXPECT_FALSE(network_file_system("/tmp"));
  EXPECT_FALSE(network_file_system("/proc"));
  EXPECT_FALSE(network_file_system("/does/not/exist"));
}

}  // namespace
}  // namespace ffpa_jit
