// Cross-process single flight: who may compile a kernel now. Part of SqliteStore (sqlite_store.h).
//
// A lease is a row. Its holder is gone when the process is (seen at once on the same host) or when
// it stopped renewing (any host). Without a file the row lies in memory and orders this process's
// threads.
#include <unistd.h>

#include <algorithm>
#include <random>
#include <thread>
#include <utility>

#include "cache/sqlite_store.h"

namespace ffpa_jit {
namespace {

int64_t new_token() {
  std::random_device device;
  return static_cast<int64_t>((uint64_t{device()} << 32 | device()) >> 1);
}

}  // namespace

class HeldLease final : public Lease {
 public:
  HeldLease(SqliteStore& store, int64_t token) : store_(store), token_(token), owner_(::getpid()) {}
  ~HeldLease() override {
    if (owner_ == ::getpid()) store_.release_lease(token_);  // a forked child's copy holds nothing
  }

 private:
  SqliteStore& store_;
  const int64_t token_;
  const pid_t owner_;
};

std::unique_ptr<Lease> SqliteStore::acquire_lease(const Hash128& key, const std::string& compiler,
                                                  std::chrono::milliseconds limit) {
  using std::chrono::milliseconds;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  const auto remaining = [&] {
    const auto left = deadline - std::chrono::steady_clock::now();
    return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(left));
  };
  LeaseRow wanted;
  wanted.key = key;
  wanted.compiler = compiler;
  wanted.token = new_token();
  for (milliseconds pause(1);;) {
    LeaseOutcome outcome = LeaseOutcome::kHeld;
    milliseconds longest_pause(25);
    if (std::unique_lock lock(mutex_, std::try_to_lock); lock) {
      const Session session(*this, std::move(lock));
      outcome = try_lease(wanted, remaining());
      if (outcome == LeaseOutcome::kGranted) {
        if (!keeper_) {
          keeper_ = std::make_unique<LeaseKeeper>(
              environment_.lease_duration / 3,
              [this](const std::vector<int64_t>& tokens) { renew_leases(tokens); });
        }
        keeper_->add(wanted.token);
      }
      if (!file_.is_wal())
        longest_pause = milliseconds(100);  // each look costs a network file system
    }
    if (outcome == LeaseOutcome::kGranted) return std::make_unique<HeldLease>(*this, wanted.token);
    if (outcome == LeaseOutcome::kKernelPresent) return nullptr;
    const milliseconds left = remaining();
    if (left == milliseconds(0)) return nullptr;
    std::this_thread::sleep_for(std::min(pause, left));
    pause = std::min(pause * 2, longest_pause);
  }
}

SqliteStore::LeaseOutcome SqliteStore::try_lease(LeaseRow& wanted,
                                                 std::chrono::milliseconds patience) {
  wanted.holder = self_;
  wanted.expires_ms = now_ms() + environment_.lease_duration.count();
  if (memory_ && has_intact_kernel(*memory_, wanted.key, wanted.compiler)) {
    return LeaseOutcome::kKernelPresent;
  }
  LeaseOutcome outcome = LeaseOutcome::kHeld;
  const bool in_file = on_file([&](Database& file) {
    file.connection().set_busy_timeout(
        std::min({patience, options_.busy_timeout, std::chrono::milliseconds(100)}));
    try {
      outcome = try_lease_in(file, wanted);
    } catch (const sqlite::Error& e) {
      if (e.failure() != sqlite::Failure::kBusy) throw;
      outcome = LeaseOutcome::kHeld;  // look again
    }
    file.connection().set_busy_timeout(options_.busy_timeout);
  });
  return in_file ? outcome : try_lease_in(memory(), wanted);
}

SqliteStore::LeaseOutcome SqliteStore::try_lease_in(Database& database, const LeaseRow& wanted) {
  const auto look = [&] {
    if (has_intact_kernel(database, wanted.key, wanted.compiler))
      return LeaseOutcome::kKernelPresent;
    const std::optional<LeaseRow> lease = database.find_lease(wanted.key, wanted.compiler);
    return lease && is_held(*lease) ? LeaseOutcome::kHeld : LeaseOutcome::kGranted;
  };
  // Waiting is reading; only who sees a free lease asks for the write lock, and then looks again.
  if (const LeaseOutcome outcome = look(); outcome != LeaseOutcome::kGranted) return outcome;
  sqlite::Transaction transaction(database.connection());
  if (const LeaseOutcome outcome = look(); outcome != LeaseOutcome::kGranted) return outcome;
  database.put_lease(wanted);
  transaction.commit();
  return LeaseOutcome::kGranted;
}

bool SqliteStore::is_held(const LeaseRow& lease) {
  const int64_t now = now_ms();
  // A clock that jumped (or a damaged row) must not block a kernel for ever.
  const int64_t latest = now + 10 * environment_.lease_duration.count();
  if (lease.expires_ms < now || lease.expires_ms > latest) return false;
  return lease.holder.host != self_.host || is_alive(lease.holder.pid, lease.holder.started);
}

bool SqliteStore::has_intact_kernel(Database& database, const Hash128& key,
                                    const std::string& compiler) {
  const std::string* wanted = options_.match == CompilerMatch::kExact ? &compiler : nullptr;
  std::vector<int64_t> damaged;
  while (damaged.size() < kMaxDamagedRows) {
    std::optional<PackedKernel> row = database.find_kernel(key, wanted, damaged);
    if (!row) return false;
    damaged.push_back(row->id);
    if (unpack(*std::move(row))) return true;
  }
  return false;
}

void SqliteStore::renew_leases(const std::vector<int64_t>& tokens) {
  const Session session(*this);
  const int64_t expires = now_ms() + environment_.lease_duration.count();
  for (size_t layer : {kMemoryLayer, kFileLayer}) {
    on_layer(layer, [&](Database& database) {
      for (const int64_t token : tokens) database.renew_lease(token, expires);
    });
  }
}

void SqliteStore::release_lease(int64_t token) {
  keeper_->remove(token);
  const Session session(*this);
  for (size_t layer : {kMemoryLayer, kFileLayer}) {
    on_layer(layer, [&](Database& database) { database.drop_lease(token); });
  }
}

}  // namespace ffpa_jit
