// The Store over SQLite. Callers use Store::open(); this header is for src/cache/ and its tests.
//
//   memory   kernels that could not be written, or all of them when there is no file
//   file     the user's cache.sqlite (user_file.h)
//   bundles  read-only files (bundle.h)
//
// One mutex guards the connections; compressing and decompressing happen outside it. Warnings are
// collected under the mutex and logged after it, so a host's log callback may call anything.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/bundle.h"
#include "cache/database.h"
#include "cache/fork_handler.h"
#include "cache/lease_keeper.h"
#include "cache/process_identity.h"
#include "cache/store.h"
#include "cache/user_file.h"

namespace ffpa_jit {

// What the store takes from the machine; tests replace parts of it.
struct StoreEnvironment {
  UserFile::Environment file;
  std::optional<std::string> host;  // of ProcessIdentity
  std::chrono::milliseconds lease_duration{30'000};
  std::function<int64_t()> now_ms;  // unix milliseconds; empty: the system's clock
};

class SqliteStore final : public Store, private ForkAware {
 public:
  SqliteStore(const StoreOptions& options, Logger log, StoreEnvironment environment = {});
  ~SqliteStore() override;

  std::optional<StoredKernel> find_kernel(const Hash128& key, const std::string& compiler) override;
  bool put_kernel(const StoredKernel& kernel) override;
  std::unique_ptr<Lease> acquire_lease(const Hash128& key, const std::string& compiler,
                                       std::chrono::milliseconds limit) override;
  std::optional<Tuning> find_tuning(const TuningKey& key) override;
  std::vector<Tuning> tunings(const std::string& device) override;
  bool put_tuning(const Tuning& tuning) override;
  StoreStatistics statistics() override;
  std::vector<KernelSummary> list() override;
  VerifyReport verify() override;
  Freed gc(int64_t limit_bytes) override;
  Freed clear() override;
  int64_t export_to(const std::filesystem::path& file) override;
  Merged merge_from(const std::filesystem::path& file) override;

 private:
  friend class HeldLease;
  struct PendingHits {
    FileState file;  // the ids are this file's
    std::map<int64_t, int64_t> rows;
    int64_t total = 0;
  };
  enum class LeaseOutcome { kGranted, kKernelPresent, kHeld };

  // The mutex, held; settles a fork first, logs afterwards.
  class Session {
   public:
    explicit Session(SqliteStore& store) : Session(store, std::unique_lock(store.mutex_)) {}
    Session(SqliteStore& store, std::unique_lock<std::mutex> lock);
    ~Session();

   private:
    SqliteStore& store_;
    std::unique_lock<std::mutex> lock_;
  };

  // ---- under the mutex ----
  void warn_once(const std::string& kind, const std::string& message);
  // Runs `work` on the user's file. What goes wrong is dealt with (a damaged file is set aside and
  // `work` run again on the new one) and ends as false: use memory.
  bool on_file(const std::function<void(Database&)>& work);
  bool recover(const sqlite::Error& error);  // true: `work` deserves a second run
  Database& memory();
  bool on_memory(const std::function<void(Database&)>& work);
  void put_in(Database& database, const PackedKernel& packed);
  // A look-up gives up on a layer after so many damaged rows of one key.
  static constexpr size_t kMaxDamagedRows = 16;
  static constexpr size_t kMemoryLayer = 0, kFileLayer = 1;  // then the bundles
  // False: the layer is absent or could not answer.
  bool on_layer(size_t layer, const std::function<void(Database&)>& work);
  size_t layers() const { return 2 + bundles_.size(); }
  std::string layer_name(size_t layer) const;
  void note_hit(size_t layer, int64_t id, int64_t last_used);
  void write_hits(Database& file, const PendingHits& hits);
  void flush_hits(Database& file, std::chrono::milliseconds busy_timeout);
  void drop_damaged(size_t layer, int64_t id, const Hash128& key);
  LeaseOutcome try_lease(LeaseRow& wanted, std::chrono::milliseconds patience);
  LeaseOutcome try_lease_in(Database& database, const LeaseRow& wanted);
  bool is_held(const LeaseRow& lease);
  bool has_intact_kernel(Database& database, const Hash128& key, const std::string& compiler);
  // For operations asked for by name: memory and the file, or CACHE_ERROR when the file cannot be
  // used.
  void for_named_operation(const char* operation, const std::function<void(Database&)>& work);

  // ---- taking the mutex ----
  std::optional<StoredKernel> find_in_layers(const Hash128& key, const std::string* compiler);
  // In the user's layers: the file, else memory. True: in the file.
  bool write(const std::function<void(Database&)>& work);
  void renew_leases(const std::vector<int64_t>& tokens);
  void release_lease(int64_t token);

  void before_fork() override;
  void after_fork_in_parent() override;
  void after_fork_in_child() override;

  int64_t now_ms() const;
  int64_t now() const { return now_ms() / 1000; }

  const StoreOptions options_;
  const Logger log_;
  const StoreEnvironment environment_;

  std::mutex mutex_;
  std::vector<std::string> warnings_;  // to be logged when the session ends
  std::set<std::string> warned_;
  std::optional<Database> memory_;
  UserFile file_;
  std::deque<Bundle> bundles_;
  PendingHits pending_hits_;
  ProcessIdentity self_;
  bool forked_ = false;
  std::unique_ptr<LeaseKeeper> keeper_;
};

}  // namespace ffpa_jit
