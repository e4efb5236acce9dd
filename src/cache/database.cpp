#include "cache/database.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cache/schema.h"

namespace ffpa_jit {
namespace {

using sqlite::Statement;

StoredKernel read_kernel(const Statement& row, int first) {
  StoredKernel k;
  k.key = row.hash(first);
  k.compiler = row.text(first + 1);
  k.compile_ms = row.real(first + 2);
  k.format = row.text(first + 3);
  k.entry = row.text(first + 4);
  k.target = row.text(first + 5);
  k.family = row.text(first + 6);
  k.problem = row.text(first + 7);
  k.config = row.text(first + 8);
  k.resources = row.text(first + 9);
  k.log = row.text(first + 10);
  return k;
}

// The columns of read_kernel, in its order.
#define KERNEL_COLUMNS \
  "key, compiler, compile_ms, format, entry, target, family, problem, config, resources, log"
// The columns of read_packed.
#define PACKED_COLUMNS "id, digest, raw_bytes, last_used, bytes, " KERNEL_COLUMNS

PackedKernel read_packed(const Statement& row) {
  PackedKernel out;
  out.id = row.integer(0);
  out.digest = row.hash(1);
  out.raw_bytes = row.integer(2);
  out.last_used = row.integer(3);
  out.packed = row.blob(4);
  out.kernel = read_kernel(row, 5);
  return out;
}

#define TUNING_COLUMNS                                                                       \
  "device, problem, shape_bucket, digest, family, config, median_us, spread_us, runner_up, " \
  "runner_up_us, samples, library_version, driver_version"

// Numbers read from a file may be anything.
int64_t saturating_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

// nullopt: the row fails its digest.
std::optional<Tuning> read_tuning(const Statement& row) {
  Tuning t;
  t.key = {row.text(0), row.text(1), row.text(2)};
  t.family = row.text(4);
  t.config = row.text(5);
  t.median_us = row.real(6);
  t.spread_us = row.real(7);
  t.runner_up = row.text(8);
  t.runner_up_us = row.real(9);
  t.samples = row.integer(10);
  t.library_version = row.text(11);
  t.driver_version = row.text(12);
  if (digest_of(t) != row.hash(3)) return std::nullopt;
  return t;
}

}  // namespace

Database Database::in_memory() {
  Database database(sqlite::Connection::in_memory());
  migrate(database.connection_);
  return database;
}

// ---- kernels ----

std::optional<PackedKernel> Database::find_kernel(const Hash128& key, const std::string* compiler,
                                                  std::span<const int64_t> skip) {
  const auto skipped = [&](int64_t id) {
    return std::find(skip.begin(), skip.end(), id) != skip.end();
  };
  std::optional<PackedKernel> found;
  if (compiler) {  // the warm path: one statement
    Statement row = connection_.prepare("SELECT " PACKED_COLUMNS
                                        " FROM kernels WHERE key = ? AND compiler = ?");
    if (row.bind(key).bind(*compiler).step() && !skipped(row.integer(0))) found = read_packed(row);
  } else {
    // Ids first: sorting whole rows would copy every candidate's blob.
    int64_t id = 0;
    {
      Statement rows = connection_.prepare(
          "SELECT id FROM kernels WHERE key = ? ORDER BY created DESC, id DESC");
      rows.bind(key);
      while (id == 0 && rows.step()) {
        if (!skipped(rows.integer(0))) id = rows.integer(0);
      }
    }
    if (id != 0) found = kernel_by_id(id);
  }
  // What was asked for is part of the digest: an index that points at another key's row is seen as
  // damage.
  if (found) found->kernel.key = key;
  if (found && compiler) found->kernel.compiler = *compiler;
  return found;
}

std::optional<PackedKernel> Database::kernel_by_id(int64_t id) {
  Statement row = connection_.prepare("SELECT " PACKED_COLUMNS " FROM kernels WHERE id = ?");
  if (!row.bind(id).step()) return std::nullopt;
  return read_packed(row);
}

bool Database::has_kernel(const Hash128& key, const std::string* compiler) {
  Statement row = compiler
                      ? connection_.prepare("SELECT 1 FROM kernels WHERE key = ? AND compiler = ?")
                      : connection_.prepare("SELECT 1 FROM kernels WHERE key = ?");
  row.bind(key);
  if (compiler) row.bind(*compiler);
  return row.step();
}

int64_t Database::put_kernel(const PackedKernel& packed, int64_t now) {
  const StoredKernel& k = packed.kernel;
  // Deleted and inserted, not updated: the row gets a new id, so that whoever is looking at the old
  // one cannot drop or touch the new one by mistake.
  connection_.prepare("DELETE FROM kernels WHERE key = ? AND compiler = ?")
      .bind(k.key)
      .bind(k.compiler)
      .run();
  connection_
      .prepare(
          "INSERT INTO kernels (digest, raw_bytes, stored_bytes, created, last_used, "
          "bytes, " KERNEL_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(packed.digest)
      .bind(packed.raw_bytes)
      .bind(static_cast<int64_t>(packed.packed.size()))
      .bind(now)
      .bind(now)
      .bind(std::span<const std::byte>(packed.packed))
      .bind(k.key)
      .bind(k.compiler)
      .bind(k.compile_ms)
      .bind(k.format)
      .bind(k.entry)
      .bind(k.target)
      .bind(k.family)
      .bind(k.problem)
      .bind(k.config)
      .bind(k.resources)
      .bind(k.log)
      .run();
  const int64_t id = connection_.last_insert_id();
  // A damaged index can swallow an entry in silence; what is put must be found.
  Statement check = connection_.prepare("SELECT id FROM kernels WHERE key = ? AND compiler = ?");
  if (!check.bind(k.key).bind(k.compiler).step() || check.integer(0) != id) {
    throw sqlite::Error::damaged(connection_.path() + ": a kernel just stored is not found");
  }
  return id;
}

void Database::drop_damaged(int64_t id, const Hash128& key) {
  sqlite::Transaction transaction(connection_);
  std::optional<PackedKernel> row = kernel_by_id(id);
  if (!row) return;
  const Hash128 row_key = row->kernel.key;
  if (!unpack(*std::move(row))) {
    connection_.prepare("DELETE FROM kernels WHERE id = ?").bind(id).run();
    transaction.commit();
  } else if (row_key != key) {
    throw sqlite::Error::damaged(connection_.path() + ": an index points at another kernel's row");
  }
}

void Database::add_hits(int64_t id, int64_t hits, int64_t now) {
  connection_
      .prepare("UPDATE kernels SET hits = hits + ?, last_used = max(last_used, ?) WHERE id = ?")
      .bind(hits)
      .bind(now)
      .bind(id)
      .run();
}

std::vector<int64_t> Database::kernel_ids() {
  std::vector<int64_t> out;
  Statement rows = connection_.prepare("SELECT id FROM kernels NOT INDEXED ORDER BY id");
  while (rows.step()) out.push_back(rows.integer(0));
  return out;
}

std::vector<KernelSummary> Database::list(const std::string& layer) {
  std::vector<KernelSummary> out;
  Statement rows = connection_.prepare(
      "SELECT raw_bytes, stored_bytes, created, last_used, hits, " KERNEL_COLUMNS
      " FROM kernels ORDER BY last_used DESC, id DESC");
  while (rows.step()) {
    KernelSummary& summary = out.emplace_back();
    summary.kernel = read_kernel(rows, 5);
    summary.raw_bytes = rows.integer(0);
    summary.stored_bytes = rows.integer(1);
    summary.created = rows.integer(2);
    summary.last_used = rows.integer(3);
    summary.hits = rows.integer(4);
    summary.layer = layer;
  }
  return out;
}

// ---- tunings ----

std::optional<Tuning> Database::find_tuning(const TuningKey& key) {
  Statement row =
      connection_.prepare("SELECT " TUNING_COLUMNS
                          " FROM tunings WHERE device = ? AND problem = ? AND shape_bucket = ?");
  if (!row.bind(key.device).bind(key.problem).bind(key.shape_bucket).step()) return std::nullopt;
  std::optional<Tuning> found = read_tuning(row);
  if (found && !(found->key == key)) return std::nullopt;  // a damaged index points at another row
  return found;
}

std::vector<Tuning> Database::tunings(const std::string& device,
                                      std::vector<std::string>* damaged) {
  std::vector<Tuning> out;
  Statement rows = connection_.prepare("SELECT " TUNING_COLUMNS
                                       ", id FROM tunings WHERE ? IN ('', device) "
                                       "ORDER BY device, problem, shape_bucket");
  rows.bind(device);
  while (rows.step()) {
    if (std::optional<Tuning> tuning = read_tuning(rows)) {
      out.push_back(*std::move(tuning));
    } else if (damaged) {
      damaged->push_back("tuning " + std::to_string(rows.integer(13)) +
                         ": does not match its digest");
    }
  }
  return out;
}

void Database::put_tuning(const Tuning& t) {
  connection_.prepare("DELETE FROM tunings WHERE device = ? AND problem = ? AND shape_bucket = ?")
      .bind(t.key.device)
      .bind(t.key.problem)
      .bind(t.key.shape_bucket)
      .run();
  connection_
      .prepare("INSERT INTO tunings (" TUNING_COLUMNS
               ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(t.key.device)
      .bind(t.key.problem)
      .bind(t.key.shape_bucket)
      .bind(digest_of(t))
      .bind(t.family)
      .bind(t.config)
      .bind(t.median_us)
      .bind(t.spread_us)
      .bind(t.runner_up)
      .bind(t.runner_up_us)
      .bind(t.samples)
      .bind(t.library_version)
      .bind(t.driver_version)
      .run();
  if (!find_tuning(t.key)) {
    throw sqlite::Error::damaged(connection_.path() + ": a tuning just stored is not found");
  }
}

// ---- leases ----

std::optional<LeaseRow> Database::find_lease(const Hash128& key, const std::string& compiler) {
  Statement row = connection_.prepare(
      "SELECT host, pid, started, token, expires FROM leases WHERE key = ? AND compiler = ?");
  if (!row.bind(key).bind(compiler).step()) return std::nullopt;
  return LeaseRow{
      key, compiler, {row.text(0), row.integer(1), row.integer(2)}, row.integer(3), row.integer(4)};
}

void Database::put_lease(const LeaseRow& lease) {
  connection_.prepare("DELETE FROM leases WHERE key = ? AND compiler = ?")
      .bind(lease.key)
      .bind(lease.compiler)
      .run();
  connection_
      .prepare(
          "INSERT INTO leases (key, compiler, host, pid, started, token, expires) "
          "VALUES (?, ?, ?, ?, ?, ?, ?)")
      .bind(lease.key)
      .bind(lease.compiler)
      .bind(lease.holder.host)
      .bind(lease.holder.pid)
      .bind(lease.holder.started)
      .bind(lease.token)
      .bind(lease.expires_ms)
      .run();
}

void Database::renew_lease(int64_t token, int64_t expires_ms) {
  connection_.prepare("UPDATE leases SET expires = ? WHERE token = ?")
      .bind(expires_ms)
      .bind(token)
      .run();
}

void Database::drop_lease(int64_t token) {
  connection_.prepare("DELETE FROM leases WHERE token = ?").bind(token).run();
}

void Database::drop_leases_expired_before(int64_t now_ms) {
  connection_.prepare("DELETE FROM leases WHERE expires < ?").bind(now_ms).run();
}

// ---- the whole ----

void Database::count(const std::string& counter, int64_t delta) {
  connection_
      .prepare(
          "INSERT INTO counters (name, value) VALUES (?, ?) "
          "ON CONFLICT (name) DO UPDATE SET value = value + excluded.value")
      .bind(counter)
      .bind(delta)
      .run();
}

int64_t Database::counter(const std::string& name) {
  Statement row = connection_.prepare("SELECT value FROM counters WHERE name = ?");
  return row.bind(name).step() ? row.integer(0) : 0;
}

void Database::add_statistics(StoreStatistics& sum) {
  {
    Statement row = connection_.prepare("SELECT count(*), total(stored_bytes) FROM kernels");
    if (row.step()) {
      sum.kernels += row.integer(0);
      sum.bytes = saturating_sum(sum.bytes, row.integer(1));
    }
  }
  sum.tunings += connection_.pragma_integer("SELECT count(*) FROM tunings");
  sum.compiles = saturating_sum(sum.compiles, counter("compiles"));
  sum.hits = saturating_sum(sum.hits, counter("hits"));
}

int64_t Database::used_bytes() {
  const int64_t pages = connection_.pragma_integer("PRAGMA page_count") -
                        connection_.pragma_integer("PRAGMA freelist_count");
  return pages * connection_.pragma_integer("PRAGMA page_size");
}

Store::Freed Database::evict(int64_t limit_bytes, int64_t keep) {
  struct Victim {
    int64_t id;
    int64_t stored_bytes;
  };
  Store::Freed freed;
  for (int64_t excess = used_bytes() - limit_bytes; excess > 0;
       excess = used_bytes() - limit_bytes) {
    std::vector<Victim> victims;
    {
      Statement rows = connection_.prepare(
          "SELECT id, stored_bytes FROM kernels WHERE id <> ? ORDER BY last_used, id LIMIT 64");
      rows.bind(keep);
      // By their own size until the excess is covered; the pages in use then tell whether it was
      // enough.
      for (int64_t found = 0; found < excess && rows.step(); found += victims.back().stored_bytes) {
        victims.push_back(
            {rows.integer(0), std::clamp<int64_t>(rows.integer(1), 0, kMaxKernelBytes)});
      }
    }
    if (victims.empty()) break;
    for (const Victim& victim : victims) {
      connection_.prepare("DELETE FROM kernels WHERE id = ?").bind(victim.id).run();
      if (connection_.changes() == 0) {  // the index names a row that is not there
        throw sqlite::Error::damaged(connection_.path() + ": kernels_by_last_used is damaged");
      }
      freed.kernels += 1;
      freed.bytes += victim.stored_bytes;
    }
  }
  return freed;
}

void Database::clear() {
  connection_.prepare("DELETE FROM kernels").run();
  connection_.prepare("DELETE FROM tunings").run();
  connection_.prepare("DELETE FROM counters").run();
}

}  // namespace ffpa_jit
