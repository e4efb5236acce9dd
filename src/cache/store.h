// Store: kernels and tunings on disk, shared by processes. Knows bytes and keys, nothing of
// attention.
//
// Nothing here fails a launch: bytes that do not match their digest are a miss, a store that cannot
// be used is replaced by memory, and each such event is logged once. Only operations a person asked
// for by name (gc, clear, export, merge) throw, with CACHE_ERROR.
//
// Any number of threads may share a Store, any number of processes a directory. After fork() parent
// and child may both go on using it. Implemented by SqliteStore (sqlite_store.h) over
// cache/schema/.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/log.h"

namespace ffpa_jit {

// One stored kernel. Texts are the canonical texts of the types they come from.
struct StoredKernel {
  Hash128 key;           // over source, target, options and format version; see kernel_key()
  std::string compiler;  // name and exact version; second part of the key
  std::vector<std::byte> bytes;
  std::string format;  // "cubin", "elf-so"
  std::string entry;
  std::string target;
  std::string family;
  std::string problem;
  std::string config;
  std::string resources;
  std::string log;
  double compile_ms = 0;
};

// What a listing shows: everything but the bytes.
struct KernelSummary {
  StoredKernel kernel;  // bytes empty
  int64_t raw_bytes = 0;
  int64_t stored_bytes = 0;
  int64_t created = 0;  // unix seconds
  int64_t last_used = 0;
  int64_t hits = 0;
  std::string layer;  // the file it lies in
};

struct TuningKey {
  std::string device;   // DeviceInfo::identity
  std::string problem;  // canonical text
  std::string shape_bucket;
  bool operator==(const TuningKey&) const = default;
};

struct Tuning {
  TuningKey key;
  std::string family;
  std::string config;
  double median_us = 0;
  double spread_us = 0;
  std::string runner_up;
  double runner_up_us = 0;
  int64_t samples = 0;
  std::string library_version;
  std::string driver_version;
};

enum class CompilerMatch { kPreferred, kExact };

struct StoreOptions {
  std::filesystem::path directory{};             // empty: memory only
  std::vector<std::filesystem::path> bundles{};  // read-only layers, in order
  int64_t size_limit_bytes = int64_t{4} << 30;   // pages in use; checked when a kernel is put
  CompilerMatch match = CompilerMatch::kPreferred;
  std::chrono::milliseconds busy_timeout{10'000};  // another's lock; then memory serves
};

struct StoreStatistics {
  int64_t kernels = 0;
  int64_t tunings = 0;
  int64_t bytes = 0;     // of stored blobs
  int64_t compiles = 0;  // ever put into this store, until clear()
  int64_t hits = 0;      // ever served by it, from bundles too; written when it is closed
  std::string path;      // "" when memory only
  std::string mode;      // "wal", "rollback", "memory"
  std::string reason;    // why memory only, when it was not asked for
};

// A compile this process owns, renewed by itself until destroyed; to be destroyed before the Store.
// A forked child's copy owns nothing.
class Lease {
 public:
  virtual ~Lease() = default;
};

class Store {
 public:
  // Never throws for a cache that cannot be used (see above).
  static std::unique_ptr<Store> open(const StoreOptions& options, Logger log);
  virtual ~Store() = default;

  // Looks in memory, then the user's file, then the bundles. Prefers the row whose compiler is
  // `compiler`; with CompilerMatch::kPreferred any compiler's row serves otherwise. An empty
  // `compiler` means "none here".
  virtual std::optional<StoredKernel> find_kernel(const Hash128& key,
                                                  const std::string& compiler) = 0;
  // Replaces the kernel of the same (key, compiler). True when it is now in the user's file (false:
  // memory only, where this process finds it).
  virtual bool put_kernel(const StoredKernel& kernel) = 0;

  // Cross-process single flight. Either a lease (this process compiles), or nullptr because
  // meanwhile the kernel appeared or the wait passed `limit`: look again. The lease of a
  // process that died is taken over at once on the same host, 30 s later from another.
  virtual std::unique_ptr<Lease> acquire_lease(const Hash128& key, const std::string& compiler,
                                               std::chrono::milliseconds limit) = 0;

  virtual std::optional<Tuning> find_tuning(const TuningKey& key) = 0;
  // `device` empty: of every device.
  virtual std::vector<Tuning> tunings(const std::string& device) = 0;
  virtual bool put_tuning(const Tuning& tuning) = 0;

  // Of memory and the user's file; bundles are in list() only.
  virtual StoreStatistics statistics() = 0;
  virtual std::vector<KernelSummary> list() = 0;

  struct VerifyReport {
    int64_t checked = 0;
    std::vector<std::string> problems;  // one line per damaged row or file
  };
  // Digests of every row of every layer, and SQLite's quick_check. Changes nothing, throws nothing.
  virtual VerifyReport verify() = 0;
  struct Freed {
    int64_t kernels = 0;
    int64_t bytes = 0;
  };
  // Evicts least recently used kernels until `limit_bytes` holds, drops expired leases, compacts
  // the file.
  virtual Freed gc(int64_t limit_bytes) = 0;
  // Every kernel, tuning and count, and the files set aside as damaged. Bundles stay.
  virtual Freed clear() = 0;
  // The kernels and tunings of memory and the user's file as a self-contained file fit for
  // FFPA_JIT_CACHE_PATH, written atomically. Returns the number of rows.
  virtual int64_t export_to(const std::filesystem::path& file) = 0;
  // Adds another file's rows to the user's; rows that fail their digest are skipped and counted.
  struct Merged {
    int64_t added = 0, present = 0, damaged = 0;
  };
  virtual Merged merge_from(const std::filesystem::path& file) = 0;
};

}  // namespace ffpa_jit
