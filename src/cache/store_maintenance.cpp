// Looking at a store and tidying it: what `ffpa-jit cache ...` asks for. Part of SqliteStore
// (sqlite_store.h).
#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "base/error.h"
#include "cache/sqlite_store.h"

namespace ffpa_jit {
StoreStatistics SqliteStore::statistics() {
  const Session session(*this);
  StoreStatistics out;
  out.hits = pending_hits_.total;
  for (size_t layer : {kMemoryLayer, kFileLayer}) {
    StoreStatistics sum = out;
    const bool done = on_layer(layer, [&](Database& database) {
      sum = out;
      database.add_statistics(sum);
    });
    if (done) out = sum;
  }
  if (file_.refused()) {
    out.mode = "memory";
    out.reason = file_.refusal();
  } else {
    out.path = file_.path().string();
    out.mode = file_.is_wal() ? "wal" : "rollback";
  }
  return out;
}

std::vector<KernelSummary> SqliteStore::list() {
  const Session session(*this);
  std::vector<KernelSummary> out;
  for (size_t layer = 0; layer < layers(); ++layer) {
    std::vector<KernelSummary> rows;
    on_layer(layer, [&](Database& database) { rows = database.list(layer_name(layer)); });
    std::move(rows.begin(), rows.end(), std::back_inserter(out));
  }
  return out;
}

Store::VerifyReport SqliteStore::verify() {
  const Session session(*this);
  VerifyReport report;
  for (size_t layer = 0; layer < layers(); ++layer) {
    const std::string name = layer_name(layer);
    const auto note = [&](const std::string& what) {
      report.problems.push_back(fmt::format("{}: {}", name, what));
    };
    const auto check = [&](Database& database) {
      sqlite::Statement lines = database.connection().prepare("PRAGMA quick_check");
      while (lines.step()) {
        if (const std::string line = lines.text(0); line != "ok") note(line);
      }
      for (const int64_t id : database.kernel_ids()) {
        std::optional<PackedKernel> row = database.kernel_by_id(id);
        ++report.checked;
        const std::string key = row ? row->kernel.key.hex() : "?";
        if (!row || !unpack(*std::move(row))) {
          note(fmt::format("kernel {} (row {}) does not match its digest", key, id));
        }
      }
      std::vector<std::string> damaged;
      report.checked += static_cast<int64_t>(database.tunings("", &damaged).size());
      report.checked += static_cast<int64_t>(damaged.size());
      for (const std::string& line : damaged) note(line);
    };
    // Reports and changes nothing: damage is noted here, not set aside.
    try {
      if (layer == kMemoryLayer) {
        if (memory_) check(*memory_);
      } else if (layer == kFileLayer) {
        if (Database* file = file_.get()) {
          check(*file);
        } else if (!file_.refusal().empty()) {
          report.problems.push_back(file_.refusal());
        }
      } else if (Database* bundle = bundles_[layer - kFileLayer - 1].get()) {
        check(*bundle);
      } else {
        note("cannot be used");
      }
    } catch (const sqlite::Error& e) {
      note(e.what());
    }
  }
  return report;
}

void SqliteStore::for_named_operation(const char* operation,
                                      const std::function<void(Database&)>& work) {
  try {
    if (memory_) work(*memory_);
    for (int attempt = 0; attempt < 3; ++attempt) {
      Database* file = file_.get();
      if (!file) break;
      try {
        return work(*file);
      } catch (const sqlite::Error& e) {
        const bool again =
            e.failure() == sqlite::Failure::kDamaged || e.failure() == sqlite::Failure::kMoved;
        if (!again || !recover(e)) throw;
      }
    }
  } catch (const sqlite::Error& e) {
    throw_error(FFPA_JIT_CACHE_ERROR, "cache {}: {}", operation, e.what());
  }
  if (!file_.refusal().empty()) {
    throw_error(FFPA_JIT_CACHE_ERROR, "cache {}: the cache file cannot be used: {}", operation,
                file_.refusal());
  }
}

namespace {

// VACUUM rewrites the file without its free pages; in WAL mode the checkpoint then shortens it.
void compact(Database& database) {
  database.connection().execute("VACUUM");
  database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

}  // namespace

Store::Freed SqliteStore::gc(int64_t limit_bytes) {
  if (limit_bytes < 0) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "cache gc: limit is {} bytes; allowed: 0 or more",
                limit_bytes);
  }
  const Session session(*this);
  Freed sum;
  for_named_operation("gc", [&](Database& database) {
    sqlite::Transaction transaction(database.connection());
    database.drop_leases_expired_before(now_ms());
    const Freed freed = database.evict(limit_bytes, 0);
    transaction.commit();
    sum.kernels += freed.kernels;
    sum.bytes += freed.bytes;
    compact(database);
  });
  return sum;
}

Store::Freed SqliteStore::clear() {
  const Session session(*this);
  Freed sum;
  for_named_operation("clear", [&](Database& database) {
    StoreStatistics before;
    sqlite::Transaction transaction(database.connection());
    database.add_statistics(before);
    database.clear();
    database.drop_leases_expired_before(now_ms());
    transaction.commit();
    sum.kernels += before.kernels;
    sum.bytes += before.bytes;
    compact(database);
  });
  pending_hits_ = {};
  if (!options_.directory.empty()) file_.delete_damaged();
  return sum;
}

}  // namespace ffpa_jit
