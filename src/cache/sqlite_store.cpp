#include "cache/sqlite_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <thread>
#include <utility>

#include "base/error.h"

namespace ffpa_jit {
namespace {

constexpr int64_t kSecondsBetweenTouches = 3600;
// Evicting to a tenth below the limit makes the next puts free of it.
constexpr int64_t kSpareFraction = 10;

int64_t system_now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

ProcessIdentity identity(const std::optional<std::string>& host) {
  ProcessIdentity self = this_process();
  if (host) self.host = *host;
  return self;
}

}  // namespace

std::unique_ptr<Store> Store::open(const StoreOptions& options, Logger log) {
  return std::make_unique<SqliteStore>(options, std::move(log));
}

SqliteStore::SqliteStore(const StoreOptions& options, Logger log, StoreEnvironment environment)
    : options_(options),
      log_(std::move(log)),
      environment_(std::move(environment)),
      file_(options.directory, options.busy_timeout, environment_.file,
            [this](const std::string& kind, const std::string& message) {
              warn_once(kind, message);
            }),
      self_(identity(environment_.host)) {
  for (const std::filesystem::path& bundle : options_.bundles) {
    bundles_.emplace_back(bundle, environment_.file.vfs);
  }
  watch_forks(this);
  // Opened now: warnings about an unusable cache belong to the start, not to the first kernel.
  const Session session(*this);
  on_file([](Database&) {});
  for (size_t layer = kFileLayer + 1; layer < layers(); ++layer) on_layer(layer, [](Database&) {});
}

SqliteStore::~SqliteStore() {
  unwatch_forks(this);
  { const Session settle_a_fork(*this); }
  keeper_.reset();  // joins; needs the mutex to be free
  const Session session(*this);
  if (pending_hits_.total == 0) return;
  // Hits are not worth a long wait at the end.
  on_file([this](Database& file) { flush_hits(file, std::chrono::milliseconds(100)); });
}

// ---- sessions, layers, trouble ----

SqliteStore::Session::Session(SqliteStore& store, std::unique_lock<std::mutex> lock)
    : store_(store), lock_(std::move(lock)) {
  if (!store_.forked_ && store_.self_.pid == ::getpid()) return;
  // The first use in a child. Counts and leases are the parent's.
  if (!store_.forked_) {  // clone() by hand: the parent's connections came along
    store_.file_.abandon();
    for (Bundle& bundle : store_.bundles_) bundle.abandon();
    store_.file_.refuse("the process was forked in a way that the C library does not know of");
  }
  store_.forked_ = false;
  store_.self_ = identity(store_.environment_.host);
  store_.pending_hits_ = {};
  static_cast<void>(store_.keeper_.release());
  if (store_.memory_) store_.memory_->connection().execute("DELETE FROM leases");
}

SqliteStore::Session::~Session() {
  std::vector<std::string> warnings;
  warnings.swap(store_.warnings_);
  const Logger log = store_.log_;
  lock_.unlock();
  for (const std::string& warning : warnings) log->warn("{}", warning);
}

void SqliteStore::warn_once(const std::string& kind, const std::string& message) {
  if (warned_.insert(kind).second) warnings_.push_back("cache: " + message);
}

bool SqliteStore::on_file(const std::function<void(Database&)>& work) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    Database* file = file_.get();
    if (const auto read_only = file_.take_read_only_path()) {
      bundles_.emplace_front(*read_only, environment_.file.vfs);
    }
    if (!file) return false;
    try {
      work(*file);
      return true;
    } catch (const sqlite::Error& e) {
      if (!recover(e)) return false;
    }
  }
  file_.refuse(fmt::format("{} is damaged again and again", file_.path().string()));
  return false;
}

bool SqliteStore::recover(const sqlite::Error& error) {
  switch (error.failure()) {
    case sqlite::Failure::kDamaged:
      file_.set_aside(error.what());
      return true;
    case sqlite::Failure::kMoved:
      file_.close_leaving_sidecars();
      return true;
    case sqlite::Failure::kFull:  // reading goes on, and space may come back
      warn_once("full", fmt::format("new kernels are kept in memory only: {}", error.what()));
      return false;
    case sqlite::Failure::kBusy:
      warn_once("busy", fmt::format("another process keeps the cache locked: {}", error.what()));
      return false;
    case sqlite::Failure::kReadOnly:
      file_.refuse_writing(error.what());
      return false;
    case sqlite::Failure::kIo:
      break;
  }
  file_.refuse(error.what());
  return false;
}

Database& SqliteStore::memory() {
  if (!memory_) memory_.emplace(Database::in_memory());
  return *memory_;
}

bool SqliteStore::on_memory(const std::function<void(Database&)>& work) {
  try {
    work(memory());
    return true;
  } catch (const sqlite::Error& e) {  // out of memory: nothing is kept
    warn_once("memory", e.what());
    return false;
  }
}

bool SqliteStore::on_layer(size_t layer, const std::function<void(Database&)>& work) {
  if (layer == kFileLayer) return on_file(work);
  if (layer == kMemoryLayer) {
    return memory_ && on_memory(work);
  }
  Bundle& bundle = bundles_[layer - kFileLayer - 1];
  try {
    Database* database = bundle.get();
    if (database) work(*database);
    return database != nullptr;
  } catch (const sqlite::Error& e) {
    bundle.give_up();
    warn_once("bundle " + bundle.file().string(),
              fmt::format("this bundle is left out: {}", e.what()));
    return false;
  }
}

std::string SqliteStore::layer_name(size_t layer) const {
  if (layer == kMemoryLayer) return "memory";
  if (layer == kFileLayer) return file_.path().string();
  return bundles_[layer - kFileLayer - 1].file().string();
}

int64_t SqliteStore::now_ms() const {
  return environment_.now_ms ? environment_.now_ms() : system_now_ms();
}

// ---- kernels ----

std::optional<StoredKernel> SqliteStore::find_kernel(const Hash128& key,
                                                     const std::string& compiler) {
  if (!compiler.empty()) {
    if (std::optional<StoredKernel> found = find_in_layers(key, &compiler)) return found;
  }
  if (options_.match == CompilerMatch::kExact) return std::nullopt;
  return find_in_layers(key, nullptr);
}

std::optional<StoredKernel> SqliteStore::find_in_layers(const Hash128& key,
                                                        const std::string* compiler) {
  for (size_t layer = 0;; ++layer) {
    std::vector<int64_t> damaged;
    while (damaged.size() < kMaxDamagedRows) {
      std::optional<PackedKernel> row;
      {
        const Session session(*this);
        if (layer >= layers()) return std::nullopt;
        on_layer(layer, [&](Database& database) {
          row.reset();
          row = database.find_kernel(key, compiler, damaged);
        });
      }
      if (!row) break;
      const int64_t id = row->id;
      const int64_t last_used = row->last_used;
      std::optional<StoredKernel> kernel = unpack(*std::move(row));
      const Session session(*this);
      if (kernel) {
        note_hit(layer, id, last_used);
        return kernel;
      }
      damaged.push_back(id);
      drop_damaged(layer, id, key);
    }
  }
}

void SqliteStore::drop_damaged(size_t layer, int64_t id, const Hash128& key) {
  warn_once(fmt::format("row {} of {}", id, layer_name(layer)),
            fmt::format("kernel {} in {} does not match its digest and is not used", key.hex(),
                        layer_name(layer)));
  if (layer > kFileLayer) return;
  on_layer(layer, [&](Database& database) { database.drop_damaged(id, key); });
}

void SqliteStore::note_hit(size_t layer, int64_t id, int64_t last_used) {
  if (layer == kMemoryLayer) {
    on_memory([&](Database& memory) {
      memory.add_hits(id, 1, now());
      memory.count("hits", 1);
    });
    return;
  }
  ++pending_hits_.total;
  if (layer != kFileLayer) return;
  if (!pending_hits_.file.same_file(file_.identity())) {
    pending_hits_.file = file_.identity();
    pending_hits_.rows.clear();
  }
  ++pending_hits_.rows[id];
  if (now() - last_used < kSecondsBetweenTouches) return;
  // Once an hour a hit is written down, so that eviction knows what is in use; without waiting for
  // a lock.
  on_file([this](Database& file) { flush_hits(file, std::chrono::milliseconds(0)); });
}

void SqliteStore::flush_hits(Database& file, std::chrono::milliseconds busy_timeout) {
  const PendingHits hits = std::exchange(pending_hits_, {});
  file.connection().set_busy_timeout(busy_timeout);
  try {
    sqlite::Transaction transaction(file.connection());
    write_hits(file, hits);
    transaction.commit();
  } catch (const sqlite::Error& e) {  // a lock, a full disk: statistics are not worth more
    if (e.failure() == sqlite::Failure::kDamaged) throw;
  }
  file.connection().set_busy_timeout(options_.busy_timeout);
}

void SqliteStore::write_hits(Database& file, const PendingHits& hits) {
  if (hits.file.same_file(file_.identity())) {
    for (const auto& [id, count] : hits.rows) file.add_hits(id, count, now());
  }
  if (hits.total) file.count("hits", hits.total);
}

bool SqliteStore::put_kernel(const StoredKernel& kernel) {
  if (static_cast<int64_t>(kernel.bytes.size()) > kMaxKernelBytes) {
    const Session session(*this);
    warn_once("large", fmt::format("a kernel of {} bytes is not stored; at most {}",
                                   kernel.bytes.size(), kMaxKernelBytes));
    return false;
  }
  const PackedKernel packed = pack(kernel);
  return write([&](Database& database) { put_in(database, packed); });
}

bool SqliteStore::write(const std::function<void(Database&)>& work) {
  const Session session(*this);
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (!on_file(work)) break;
    // Committed to a file that another process was just setting aside: once more, into the new one.
    if (!file_.replaced()) return true;
  }
  on_memory(work);
  return false;
}

void SqliteStore::put_in(Database& database, const PackedKernel& packed) {
  const bool is_file = !memory_ || &database != &*memory_;
  const PendingHits hits = is_file ? pending_hits_ : PendingHits{};
  sqlite::Transaction transaction(database.connection());
  const int64_t id = database.put_kernel(packed, now());
  database.count("compiles", 1);
  write_hits(database, hits);
  if (database.used_bytes() > options_.size_limit_bytes) {
    database.evict(options_.size_limit_bytes - options_.size_limit_bytes / kSpareFraction, id);
  }
  transaction.commit();
  if (is_file) pending_hits_ = {};
}

// ---- tunings ----

std::optional<Tuning> SqliteStore::find_tuning(const TuningKey& key) {
  const Session session(*this);
  std::optional<Tuning> found;
  for (size_t layer = 0; layer < layers() && !found; ++layer) {
    on_layer(layer, [&](Database& database) { found = database.find_tuning(key); });
  }
  return found;
}

std::vector<Tuning> SqliteStore::tunings(const std::string& device) {
  const Session session(*this);
  std::vector<Tuning> out;
  for (size_t layer = 0; layer < layers(); ++layer) {
    std::vector<Tuning> rows;
    on_layer(layer, [&](Database& database) { rows = database.tunings(device); });
    const size_t from_earlier_layers = out.size();
    for (Tuning& row : rows) {
      const auto end = out.begin() + static_cast<std::ptrdiff_t>(from_earlier_layers);
      const bool hidden =
          std::any_of(out.begin(), end, [&](const Tuning& seen) { return seen.key == row.key; });
      if (!hidden) out.push_back(std::move(row));
    }
  }
  return out;
}

bool SqliteStore::put_tuning(const Tuning& tuning) {
  return write([&](Database& database) {
    sqlite::Transaction transaction(database.connection());
    database.put_tuning(tuning);
    transaction.commit();
  });
}

// ---- fork ----

void SqliteStore::before_fork() {
  mutex_.lock();
  file_.close_leaving_sidecars();
  for (Bundle& bundle : bundles_) bundle.close();
}

void SqliteStore::after_fork_in_parent() { mutex_.unlock(); }

void SqliteStore::after_fork_in_child() {
  forked_ = true;
  mutex_.unlock();
}

}  // namespace ffpa_jit
