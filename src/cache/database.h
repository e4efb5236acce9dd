// The store's rows in one database: the user's file, a bundle, an export being written, or memory.
// All SQL over kernels, tunings, leases and counters is in database.cpp; which database is asked
// when is sqlite_store.cpp's.
//
// Methods throw sqlite::Error. Writes are single statements or meant to run inside a
// sqlite::Transaction.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cache/packing.h"
#include "cache/process_identity.h"
#include "cache/sqlite.h"
#include "cache/store.h"

namespace ffpa_jit {

struct LeaseRow {
  Hash128 key;
  std::string compiler;
  ProcessIdentity holder;
  int64_t token = 0;       // unique per lease
  int64_t expires_ms = 0;  // unix milliseconds
};

class Database {
 public:
  explicit Database(sqlite::Connection connection) : connection_(std::move(connection)) {}
  // An empty one in memory, schema applied.
  static Database in_memory();

  sqlite::Connection& connection() { return connection_; }

  // ---- kernels ----
  // `compiler` null: any compiler's row, the newest first. Rows in `skip` are passed over.
  std::optional<PackedKernel> find_kernel(const Hash128& key, const std::string* compiler,
                                          std::span<const int64_t> skip);
  bool has_kernel(const Hash128& key, const std::string* compiler);
  // Replaces the row of the same (key, compiler); returns its id.
  int64_t put_kernel(const PackedKernel& kernel, int64_t now);
  // For a row that a look-up found damaged. The row may have been replaced since (then it stays),
  // and when it is whole but another key's, it is the index that is damaged (then this throws).
  void drop_damaged(int64_t id, const Hash128& key);
  void add_hits(int64_t id, int64_t hits, int64_t now);
  std::vector<KernelSummary> list(const std::string& layer);
  std::vector<int64_t> kernel_ids();
  std::optional<PackedKernel> kernel_by_id(int64_t id);

  // ---- tunings ----
  // Rows that fail their digest are left out. `device` empty: of every device.
  std::optional<Tuning> find_tuning(const TuningKey& key);
  std::vector<Tuning> tunings(const std::string& device,
                              std::vector<std::string>* damaged = nullptr);
  void put_tuning(const Tuning& tuning);

  // ---- leases ----
  std::optional<LeaseRow> find_lease(const Hash128& key, const std::string& compiler);
  void put_lease(const LeaseRow& lease);
  void renew_lease(int64_t token, int64_t expires_ms);
  void drop_lease(int64_t token);
  void drop_leases_expired_before(int64_t now_ms);

  // ---- the whole ----
  void count(const std::string& counter, int64_t delta);
  int64_t counter(const std::string& name);
  void add_statistics(StoreStatistics& sum);
  // Pages in use, in bytes: what the size limit limits.
  int64_t used_bytes();
  // Least recently used kernels go until used_bytes() <= limit; `keep` stays.
  Store::Freed evict(int64_t limit_bytes, int64_t keep);
  void clear();

 private:
  sqlite::Connection connection_;
};

}  // namespace ffpa_jit
