// Export and merge: whole caches in and out of one file. Part of SqliteStore (sqlite_store.h).
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cache/schema.h"
#include "cache/sqlite_store.h"

namespace ffpa_jit {
namespace {

// Rows merged in one transaction: long enough to be fast, short enough for others to get their
// turn.
constexpr size_t kRowsPerTransaction = 32;

bool sync_path(const std::filesystem::path& path, int flags) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (descriptor < 0) return false;
  const bool done = ::fsync(descriptor) == 0;
  ::close(descriptor);
  return done;
}

// A file being written under another name; it vanishes unless published.
class Draft {
 public:
  explicit Draft(const std::filesystem::path& target)
      : target_(target), draft_(fmt::format("{}.tmp-{}", target.string(), ::getpid())) {
    remove();
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() { remove(); }

  std::string path() const { return draft_.string(); }

  // Pre: SQLite has closed it.
  void publish() {
    if (!sync_path(draft_, 0) || ::rename(draft_.c_str(), target_.c_str()) != 0) {
      throw_error(FFPA_JIT_CACHE_ERROR, "cache export: cannot write {}: {}", target_.string(),
                  std::strerror(errno));
    }
    sync_path(target_.parent_path(), O_DIRECTORY);  // not every file system can; the data is safe
  }

 private:
  void remove() {
    std::error_code ignored;
    std::filesystem::remove(draft_, ignored);
    std::filesystem::remove(path() + "-journal", ignored);
  }

  std::filesystem::path target_;
  std::filesystem::path draft_;
};

std::filesystem::path resolved(const std::filesystem::path& file, const char* operation) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(file, error);
  const std::filesystem::path parent = std::filesystem::canonical(absolute.parent_path(), error);
  if (error || !absolute.has_filename()) {
    throw_error(FFPA_JIT_CACHE_ERROR, "cache {}: {}: {}", operation, file.string(),
                error ? error.message() : "not a file name");
  }
  return parent / absolute.filename();
}

// Copies what `target` does not have yet; rows that fail their digest stay behind.
void copy_rows(Database& source, Database& target, int64_t now, Store::Merged& sum) {
  const std::vector<int64_t> ids = source.kernel_ids();
  for (size_t begin = 0; begin < ids.size(); begin += kRowsPerTransaction) {
    const size_t end = std::min(ids.size(), begin + kRowsPerTransaction);
    Store::Merged batch;
    sqlite::Transaction transaction(target.connection());
    for (size_t i = begin; i < end; ++i) {
      const std::optional<PackedKernel> row = source.kernel_by_id(ids[i]);
      if (!row) continue;  // evicted meanwhile
      if (!unpack(PackedKernel(*row))) {
        ++batch.damaged;
      } else if (target.has_kernel(row->kernel.key, &row->kernel.compiler)) {
        ++batch.present;
      } else {
        target.put_kernel(*row, now);
        ++batch.added;
      }
    }
    transaction.commit();
    sum.added += batch.added;
    sum.present += batch.present;
    sum.damaged += batch.damaged;
  }
  std::vector<std::string> damaged;
  const std::vector<Tuning> tunings = source.tunings("", &damaged);
  sqlite::Transaction transaction(target.connection());
  for (const Tuning& tuning : tunings) {
    const bool present = target.find_tuning(tuning.key).has_value();
    if (!present) target.put_tuning(tuning);
    ++(present ? sum.present : sum.added);
  }
  transaction.commit();
  sum.damaged += static_cast<int64_t>(damaged.size());
}

// Another cache's file: live, so with locks, where those can be had; immutable where nothing can be
// written.
Database open_source(const std::filesystem::path& file, const std::string& vfs,
                     std::chrono::milliseconds busy_timeout) {
  try {
    sqlite::Connection connection = sqlite::Connection::open(
        file.string(), {.read_only = true, .vfs = vfs, .busy_timeout = busy_timeout});
    if (schema_state(connection) == SchemaState::kCurrent) return Database(std::move(connection));
  } catch (const sqlite::Error& e) {
    if (e.failure() == sqlite::Failure::kDamaged) throw;
  }
  return open_bundle(file, vfs);  // or says what is wrong with it
}

}  // namespace

int64_t SqliteStore::export_to(const std::filesystem::path& file) {
  const std::filesystem::path target = resolved(file, "export");
  const Session session(*this);
  if (target == file_.path()) {
    throw_error(FFPA_JIT_CACHE_ERROR, "cache export: {} is the cache itself", target.string());
  }
  Merged copied;
  try {
    Draft draft(target);
    {
      Database out(sqlite::Connection::open(
          draft.path(),
          {.create = true, .vfs = environment_.file.vfs, .busy_timeout = options_.busy_timeout}));
      // Rollback format, without a journal on disk: until it is published, a failed draft is
      // deleted.
      out.connection().execute(
          fmt::format("PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA page_size={}",
                      kDefaultPageSize));
      migrate(out.connection());
      if (memory_) copy_rows(*memory_, out, now(), copied);
      Database* source = file_.get();
      if (!source && !file_.refusal().empty()) {
        // A file that cannot be written can still be exported: it is the first bundle then.
        const bool readable = !bundles_.empty() && bundles_.front().file() == file_.path();
        source = readable ? bundles_.front().get() : nullptr;
        if (!source) {
          throw_error(FFPA_JIT_CACHE_ERROR, "cache export: the cache file cannot be used: {}",
                      file_.refusal());
        }
      }
      if (source) copy_rows(*source, out, now(), copied);
    }
    draft.publish();
  } catch (const sqlite::Error& e) {
    throw_error(FFPA_JIT_CACHE_ERROR, "cache export: {}", e.what());
  }
  if (copied.damaged > 0) {
    warn_once("export", fmt::format("{} damaged rows were not exported", copied.damaged));
  }
  return copied.added;
}

Store::Merged SqliteStore::merge_from(const std::filesystem::path& file) {
  const std::filesystem::path source_path = resolved(file, "merge");
  const Session session(*this);
  Merged sum;
  try {
    Database source = open_source(source_path, environment_.file.vfs, options_.busy_timeout);
    Database* target = file_.get();
    if (!target && !file_.refusal().empty()) {
      throw_error(FFPA_JIT_CACHE_ERROR, "cache merge: the cache file cannot be used: {}",
                  file_.refusal());
    }
    if (!target) target = &memory();
    copy_rows(source, *target, now(), sum);
    if (target->used_bytes() > options_.size_limit_bytes) {
      sqlite::Transaction transaction(target->connection());
      target->evict(options_.size_limit_bytes, 0);
      transaction.commit();
    }
  } catch (const sqlite::Error& e) {
    throw_error(FFPA_JIT_CACHE_ERROR,
                "cache merge: {}; expected is a file of `ffpa-jit cache export`, or another "
                "cache's cache.sqlite",
                e.what());
  }
  return sum;
}

}  // namespace ffpa_jit
