// What the store promises when nothing goes wrong: kernels, tunings, layers, eviction, export and
// merge.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "base/error.h"
#include "cache/schema.h"
#include "store_fixture.h"

namespace ffpa_jit {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(StoreTest, KernelComesBackWhole) {
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{300}, size_t{100'000}, size_t{3'000'000}}) {
    const StoredKernel kernel = test_kernel(size, size);
    {
      auto store = open();
      EXPECT_FALSE(store->find_kernel(kernel.key, kernel.compiler));
      EXPECT_TRUE(store->put_kernel(kernel));
      EXPECT_TRUE(same(kernel, store->find_kernel(kernel.key, kernel.compiler).value()));
    }
    EXPECT_TRUE(same(kernel, open()->find_kernel(kernel.key, kernel.compiler).value()));
  }
  EXPECT_THAT(warnings_.lines(), IsEmpty());
}

TEST_F(StoreTest, TextsWithZeroBytesAndNonAsciiSurvive) {
  StoredKernel kernel = test_kernel(1);
  kernel.log = std::string("warn\0ing \xc3\xa9 \xff", 14);
  kernel.config = "";
  kernel.compile_ms = -0.0;
  open()->put_kernel(kernel);
  EXPECT_TRUE(same(kernel, open()->find_kernel(kernel.key, kernel.compiler).value()));
  kernel.compile_ms = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(open()->put_kernel(kernel));
  EXPECT_EQ(open()->find_kernel(kernel.key, kernel.compiler).value().compile_ms, 0);
}

TEST_F(StoreTest, DirectoryAndFilesArePrivate) {
  const mode_t before = ::umask(0);
  auto store = open();
  store->put_kernel(test_kernel(1));
  ::umask(before);
  struct stat info {};
  ASSERT_EQ(::stat(directory().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  for (const auto& entry : fs::directory_iterator(directory())) {
    ASSERT_EQ(::stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u) << entry.path();
  }
}

TEST_F(StoreTest, LaterPutReplaces) {
  auto store = open();
  StoredKernel kernel = test_kernel(1);
  store->put_kernel(kernel);
  kernel.bytes = test_bytes(99, 500);
  store->put_kernel(kernel);
  EXPECT_TRUE(same(kernel, store->find_kernel(kernel.key, kernel.compiler).value()));
  EXPECT_EQ(store->statistics().kernels, 1);
  EXPECT_EQ(store->statistics().compiles, 2);
}

TEST_F(StoreTest, PreferredMatchTakesOwnCompilerFirstThenAnyThenNewest) {
  int64_t now = 1'000'000;
  environment_.now_ms = [&] { return now; };
  auto store = open();
  const Hash128 key = test_kernel(1).key;
  store->put_kernel(test_kernel(1, 300, "nvrtc 12.0"));
  now += 10'000;
  store->put_kernel(test_kernel(1, 300, "nvrtc 13.1"));
  now += 10'000;
  store->put_kernel(test_kernel(1, 300, "nvrtc 13.0"));
  EXPECT_EQ(store->find_kernel(key, "nvrtc 12.0")->compiler, "nvrtc 12.0");
  EXPECT_EQ(store->find_kernel(key, "nvrtc 14.0")->compiler, "nvrtc 13.0");
  EXPECT_EQ(store->find_kernel(key, "")->compiler, "nvrtc 13.0");
}

TEST_F(StoreTest, ExactMatchTakesNothingElse) {
  options_.match = CompilerMatch::kExact;
  auto store = open();
  const StoredKernel kernel = test_kernel(1);
  store->put_kernel(kernel);
  EXPECT_TRUE(store->find_kernel(kernel.key, kernel.compiler));
  EXPECT_FALSE(store->find_kernel(kernel.key, "nvrtc 14.0"));
  EXPECT_FALSE(store->find_kernel(kernel.key, ""));
}

TEST_F(StoreTest, TuningsComeBackAndAreReplaced) {
  Tuning tuning = test_tuning(1);
  {
    auto store = open();
    EXPECT_FALSE(store->find_tuning(tuning.key));
    EXPECT_TRUE(store->put_tuning(tuning));
    tuning.config = "block_m=256";
    EXPECT_TRUE(store->put_tuning(tuning));
    store->put_tuning(test_tuning(2));
    Tuning other = test_tuning(3);
    other.key.device = "AMD MI300X";
    store->put_tuning(other);
  }
  auto store = open();
  const Tuning found = store->find_tuning(tuning.key).value();
  EXPECT_EQ(digest_of(found), digest_of(tuning));
  EXPECT_EQ(found.config, "block_m=256");
  EXPECT_EQ(store->tunings("NVIDIA H200").size(), 2u);
  EXPECT_EQ(store->tunings("").size(), 3u);
  EXPECT_EQ(store->statistics().tunings, 3);
}

TEST_F(StoreTest, MemoryOnlyWhenNoDirectoryIsGiven) {
  options_.directory.clear();
  auto store = open();
  const StoredKernel kernel = test_kernel(1);
  EXPECT_FALSE(store->put_kernel(kernel));
  EXPECT_FALSE(store->put_tuning(test_tuning(1)));
  EXPECT_TRUE(same(kernel, store->find_kernel(kernel.key, kernel.compiler).value()));
  EXPECT_TRUE(store->find_tuning(test_tuning(1).key));
  const StoreStatistics statistics = store->statistics();
  EXPECT_EQ(statistics.mode, "memory");
  EXPECT_EQ(statistics.path, "");
  EXPECT_EQ(statistics.reason, "");
  EXPECT_EQ(statistics.kernels, 1);
  EXPECT_EQ(statistics.hits, 1);
  EXPECT_EQ(store->clear().kernels, 1);
  EXPECT_FALSE(store->find_kernel(kernel.key, kernel.compiler));
  EXPECT_THAT(warnings_.lines(), IsEmpty());
}

// ---- counting and listing ----

TEST_F(StoreTest, HitsAreCountedWithoutWritingAndKeptAtClose) {
  const StoredKernel kernel = test_kernel(1);
  open()->put_kernel(kernel);
  {
    auto store = open();
    const auto written = fs::last_write_time(file());
    const std::string before = read_file(file());
    for (int i = 0; i < 5; ++i) store->find_kernel(kernel.key, kernel.compiler);
    EXPECT_EQ(store->statistics().hits, 5);
    EXPECT_EQ(read_file(file()), before);
    EXPECT_EQ(fs::last_write_time(file()), written);
    EXPECT_TRUE(!fs::exists(file().string() + "-wal") ||
                fs::file_size(file().string() + "-wal") == 0);
  }
  auto store = open();
  EXPECT_EQ(store->statistics().hits, 5);
  EXPECT_EQ(store->statistics().compiles, 1);
  EXPECT_EQ(store->list().at(0).hits, 5);
}

TEST_F(StoreTest, LastUsedIsWrittenOnceAnHour) {
  int64_t now = 1'000'000'000;
  environment_.now_ms = [&] { return now; };
  auto store = open();
  const StoredKernel kernel = test_kernel(1);
  store->put_kernel(kernel);
  now += 3'000'000;
  store->find_kernel(kernel.key, kernel.compiler);
  EXPECT_EQ(store->list().at(0).last_used, 1'000'000);
  now += 1'000'000;
  store->find_kernel(kernel.key, kernel.compiler);
  EXPECT_EQ(store->list().at(0).last_used, now / 1000);
  EXPECT_EQ(store->list().at(0).hits, 2);
}

TEST_F(StoreTest, ListShowsEverythingButBytes) {
  auto store = open();
  const StoredKernel kernel = test_kernel(1, 10'000);
  store->put_kernel(kernel);
  const KernelSummary summary = store->list().at(0);
  EXPECT_THAT(summary.kernel.bytes, IsEmpty());
  EXPECT_EQ(summary.kernel.problem, kernel.problem);
  EXPECT_EQ(summary.raw_bytes, 10'000);
  EXPECT_GT(summary.stored_bytes, 0);
  EXPECT_LT(summary.stored_bytes, 10'000);
  EXPECT_EQ(summary.layer, file().string());
  EXPECT_EQ(store->statistics().bytes, summary.stored_bytes);
}

// ---- eviction ----

TEST_F(StoreTest, SizeLimitEvictsLeastRecentlyUsedNeverTheNewOne) {
  int64_t now = 1'000'000'000;
  environment_.now_ms = [&] { return now += 1000; };
  options_.size_limit_bytes = 1'000'000;
  auto store = open();
  for (int i = 0; i < 40; ++i) {
    store->put_kernel(test_kernel(i, 100'000));
    EXPECT_TRUE(store->find_kernel(test_kernel(i).key, "nvrtc 13.0")) << i;
    if (i >= 3) {
      now += 4'000'000;  // past the hour: the hit is written down
      EXPECT_TRUE(store->find_kernel(test_kernel(2).key, "nvrtc 13.0"))
          << "in use, yet gone at " << i;
    }
  }
  EXPECT_FALSE(store->find_kernel(test_kernel(0).key, "nvrtc 13.0"));
  const StoreStatistics statistics = store->statistics();
  EXPECT_LE(statistics.bytes, options_.size_limit_bytes);
  EXPECT_GT(statistics.kernels, 5);
  EXPECT_LT(statistics.kernels, 40);
  // One kernel larger than the limit is still kept: it is what the caller needs now.
  store->put_kernel(test_kernel(77, 3'000'000));
  EXPECT_TRUE(store->find_kernel(test_kernel(77).key, "nvrtc 13.0"));
  EXPECT_EQ(store->statistics().kernels, 1);
  EXPECT_THAT(warnings_.lines(), IsEmpty());
}

TEST_F(StoreTest, GcEvictsAndShrinksTheFile) {
  auto store = open();
  for (int i = 0; i < 20; ++i) store->put_kernel(test_kernel(i, 100'000));
  const Store::Freed none = store->gc(int64_t{1} << 30);
  EXPECT_EQ(none.kernels, 0);
  const auto before = fs::file_size(file());
  const Store::Freed half = store->gc(static_cast<int64_t>(before) / 2);
  EXPECT_GT(half.kernels, 5);
  EXPECT_LT(half.kernels, 15);
  EXPECT_GT(half.bytes, 0);
  EXPECT_LE(fs::file_size(file()), before / 2);
  EXPECT_EQ(store->statistics().kernels, 20 - half.kernels);
  EXPECT_FALSE(store->find_kernel(test_kernel(0).key, ""));
  EXPECT_TRUE(store->find_kernel(test_kernel(19).key, ""));
  EXPECT_EQ(store->gc(0).kernels, 20 - half.kernels);
  EXPECT_THROW(store->gc(-1), Error);
}

TEST_F(StoreTest, ClearEmptiesEverything) {
  auto store = open();
  store->put_kernel(test_kernel(1));
  store->put_tuning(test_tuning(1));
  write_file(file().string() + ".damaged-1", "evidence");
  const Store::Freed freed = store->clear();
  EXPECT_EQ(freed.kernels, 1);
  EXPECT_GT(freed.bytes, 0);
  const StoreStatistics statistics = store->statistics();
  EXPECT_EQ(statistics.kernels + statistics.tunings + statistics.bytes + statistics.compiles, 0);
  EXPECT_FALSE(fs::exists(file().string() + ".damaged-1"));
}

TEST_F(StoreTest, VerifyFindsNothingWrongInAGoodStore) {
  auto store = open();
  for (int i = 0; i < 5; ++i) store->put_kernel(test_kernel(i));
  store->put_tuning(test_tuning(1));
  const Store::VerifyReport report = store->verify();
  EXPECT_EQ(report.checked, 6);
  EXPECT_THAT(report.problems, IsEmpty());
}

// ---- bundles, export, merge ----

TEST_F(StoreTest, ExportedFileServesAsBundleAndMerges) {
  const fs::path bundle = temp_.path() / "a ?b#c%20d.bundle";  // what a URI would misread
  {
    auto store = open();
    for (int i = 0; i < 50; ++i) store->put_kernel(test_kernel(i));
    store->put_tuning(test_tuning(1));
    EXPECT_EQ(store->export_to(bundle), 51);
    EXPECT_EQ(store->export_to(bundle), 51) << "replaces";
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(temp_.path()), {}), 2) << "no draft left";
  fs::permissions(bundle, fs::perms::owner_read);
  const std::string bytes = read_file(bundle);

  StoreOptions with_bundle{.directory = temp_.path() / "other", .bundles = {bundle}};
  {
    auto store = open(with_bundle);
    EXPECT_TRUE(same(test_kernel(3), store->find_kernel(test_kernel(3).key, "x").value()));
    EXPECT_TRUE(store->find_tuning(test_tuning(1).key));
    EXPECT_EQ(store->tunings("NVIDIA H200").size(), 1u);
    EXPECT_EQ(store->list().size(), 50u);
    EXPECT_EQ(store->list()[0].layer, bundle.string());
    EXPECT_EQ(store->statistics().kernels, 0) << "a bundle's rows are not the user's";
    EXPECT_EQ(store->statistics().hits, 1);
    EXPECT_EQ(store->verify().checked, 51);
  }
  EXPECT_EQ(read_file(bundle), bytes);
  StoreOptions memory_with_bundle{.bundles = {bundle}};
  EXPECT_TRUE(open(memory_with_bundle)->find_kernel(test_kernel(3).key, ""));

  StoreOptions merged{.directory = temp_.path() / "merged"};
  auto store = open(merged);
  store->put_kernel(test_kernel(7));
  const Store::Merged sum = store->merge_from(bundle);
  EXPECT_EQ(sum.added, 50);
  EXPECT_EQ(sum.present, 1);
  EXPECT_EQ(sum.damaged, 0);
  EXPECT_EQ(store->statistics().kernels, 50);
  EXPECT_EQ(store->statistics().compiles, 1) << "merging compiles nothing";
  // A live cache can be merged as well: somebody else has it open, and rows still in its log count.
  auto live = open(StoreOptions{.directory = temp_.path() / "live"});
  live->put_kernel(test_kernel(1000));
  EXPECT_EQ(store->merge_from(temp_.path() / "live" / "cache.sqlite").added, 1);
  EXPECT_THAT(warnings_.lines(), IsEmpty());
}

TEST_F(StoreTest, LayersAreAskedInOrder) {
  std::vector<fs::path> bundles;
  for (int i = 0; i < 2; ++i) {
    auto store = open(StoreOptions{.directory = temp_.path() / std::to_string(i)});
    StoredKernel kernel = test_kernel(1);
    kernel.config = "from bundle " + std::to_string(i);
    store->put_kernel(kernel);
    bundles.push_back(temp_.path() / ("bundle" + std::to_string(i)));
    store->export_to(bundles.back());
  }
  options_.bundles = bundles;
  auto store = open();
  const StoredKernel own = test_kernel(1);
  EXPECT_EQ(store->find_kernel(own.key, own.compiler)->config, "from bundle 0");
  store->put_kernel(own);
  EXPECT_EQ(store->find_kernel(own.key, own.compiler)->config, own.config);
  // The right compiler in a later layer goes before another compiler in an earlier one.
  store->put_kernel(test_kernel(1, 300, "nvrtc 14.0"));
  EXPECT_EQ(store->find_kernel(own.key, own.compiler)->compiler, own.compiler);
}

TEST_F(StoreTest, MissingOrForeignBundleIsLeftOutWithOneWarning) {
  write_file(temp_.path() / "text", "this is not a database, only a text of some length");
  sqlite::Connection::open((temp_.path() / "foreign").string(), {.create = true})
      .execute("CREATE TABLE t (x)");
  const fs::path good = temp_.path() / "good";
  auto source = open(StoreOptions{.directory = temp_.path() / "source"});
  source->put_kernel(test_kernel(1));
  source->export_to(good);
  options_.bundles = {temp_.path() / "absent", temp_.path() / "text", temp_.path() / "foreign",
                      temp_.path(), good};
  auto store = open();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(store->find_kernel(test_kernel(1).key, "x"));
  const std::vector<std::string> lines = warnings_.lines();
  ASSERT_EQ(lines.size(), 4u) << warnings_.text();
  EXPECT_THAT(lines[0], HasSubstr("absent"));
  EXPECT_THAT(lines[1], HasSubstr("text"));
  EXPECT_THAT(lines[2], HasSubstr("not a kernel cache"));
}

TEST_F(StoreTest, NamedOperationsThrowCacheErrorWithTheReason) {
  auto store = open();
  const auto message = [](auto&& operation) -> std::string {
    try {
      operation();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), FFPA_JIT_CACHE_ERROR);
      return e.what();
    }
    return "nothing thrown";
  };
  EXPECT_THAT(message([&] { store->export_to("/proc/nowhere/x"); }), HasSubstr("cache export: "));
  EXPECT_THAT(message([&] { store->export_to(file()); }), HasSubstr("is the cache itself"));
  EXPECT_THAT(message([&] { store->merge_from(temp_.path() / "absent"); }),
              HasSubstr("cache merge: "));
  EXPECT_THAT(message([&] { store->merge_from(directory() / "cache.lock"); }),
              HasSubstr("not a kernel cache"));
  write_file(temp_.path() / "plain", "x");
  auto unusable = open(StoreOptions{.directory = temp_.path() / "plain"});
  EXPECT_THAT(message([&] { unusable->gc(0); }), HasSubstr("is not a directory"));
  EXPECT_THAT(message([&] { unusable->clear(); }), HasSubstr("is not a directory"));
  EXPECT_THAT(message([&] { unusable->export_to(temp_.path() / "y"); }),
              HasSubstr("is not a directory"));
}

// ---- schema ----

TEST_F(StoreTest, MigrationsApplyInOrderAndOnlyWhatIsMissing) {
  fs::create_directory(directory());
  const Migration steps[] = {{1, "one", "CREATE TABLE t (x); INSERT INTO t VALUES (7);"},
                             {2, "two", "ALTER TABLE t ADD COLUMN y DEFAULT 8;"}};
  sqlite::Connection connection = sqlite::Connection::open(file().string(), {.create = true});
  EXPECT_EQ(schema_state(connection, steps), SchemaState::kEmpty);
  migrate(connection, std::span(steps).first(1));
  EXPECT_EQ(schema_state(connection, std::span(steps).first(1)), SchemaState::kCurrent);
  EXPECT_EQ(schema_state(connection, steps), SchemaState::kOlder);
  migrate(connection, steps);
  migrate(connection, steps);
  EXPECT_EQ(schema_state(connection, steps), SchemaState::kCurrent);
  EXPECT_EQ(schema_state(connection, std::span(steps).first(1)), SchemaState::kNewer);
  EXPECT_EQ(connection.pragma_integer("SELECT x + y FROM t"), 15);
  // A step that fails leaves nothing of itself behind.
  const Migration bad[] = {
      steps[0], steps[1], {3, "bad", "CREATE TABLE u (x); CREATE TABLE t (x);"}};
  EXPECT_THROW(migrate(connection, bad), sqlite::Error);
  EXPECT_EQ(schema_state(connection, steps), SchemaState::kCurrent);
  EXPECT_EQ(connection.pragma_integer("SELECT count(*) FROM sqlite_schema"), 1);
}

TEST_F(StoreTest, EmbeddedMigrationsAreNumberedFromOne) {
  int64_t expected = 0;
  for (const Migration& step : migrations()) EXPECT_EQ(step.version, ++expected) << step.name;
  EXPECT_GE(expected, 1);
}

// ---- journals ----

TEST_F(StoreTest, LocalFileSystemUsesWalNetworkUsesRollback) {
  EXPECT_EQ(open()->statistics().mode, "wal");
  environment_.file.force_rollback = true;
  {
    auto store = open();  // was WAL, now is not
    EXPECT_EQ(store->statistics().mode, "rollback");
    store->put_kernel(test_kernel(1));
    EXPECT_FALSE(fs::exists(file().string() + "-wal"));
    EXPECT_FALSE(fs::exists(file().string() + "-shm"));
  }
  environment_.file.force_rollback.reset();
  auto store = open();
  EXPECT_EQ(store->statistics().mode, "wal");
  EXPECT_TRUE(store->find_kernel(test_kernel(1).key, ""));
}

TEST_F(StoreTest, SeveralThreadsShareOneStore) {
  auto store = open();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const StoredKernel kernel = test_kernel(i % 20, 2000 + i % 20);
        if (t % 2) store->put_kernel(kernel);
        if (auto found = store->find_kernel(kernel.key, "")) {
          EXPECT_TRUE(same(kernel, *found));
        }
        store->statistics();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store->statistics().kernels, 20);
  EXPECT_THAT(store->verify().problems, IsEmpty());
}

}  // namespace
}  // namespace ffpa_jit
