// TunedConfigs: which tuned config serves a problem. Looks through this machine's own tunings (the
// cache and its bundles), the files of FFPA_JIT_TUNED_CONFIG_DIR, and those shipped with the
// library, in this order; takes the row nearest to the problem and its shape; trusts no row that
// today's search space does not have. Called by the planner. Thread-safe.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "cache/store.h"
#include "plan/kernel_family.h"

namespace ffpa_jit {

inline constexpr std::string_view kCacheSource = "the cache";

struct TunedConfig {
  KernelConfig config;
  Tuning tuning;               // the row it comes from
  int distance = 0;            // 0: tuned for this very problem and shape class
  std::string source;          // kCacheSource, or the file
  bool other_version = false;  // tuned by another version of the library: to be checked again

  // "tuned for q=8192 k=8192 heads=32: 512.3 us (+- 1.1)"
  std::string reason() const;
};

// The store's key of a tuning. The family is part of it: each family has configs of its own.
TuningKey tuning_key(std::string_view family, const Problem& problem, const Shape& shape,
                     const DeviceInfo& device);
// The family and the bucket that a row's shape text names ("mma q=8192 k=8192 heads=32").
std::pair<std::string, std::string> parse_tuning_shape(std::string_view text);

std::string library_version();  // "0.1.0": what a tuning is stamped with

// One kind of device: equal identities, or equal but for the memory clock where one is not known (a
// device that is not in this machine).
bool same_device(std::string_view a, std::string_view b);

// How far a row measured for one problem and shape is from another, 0 for its own class; nullopt:
// too far to serve it.
std::optional<int> tuning_distance(const Problem& row, const Shape& row_shape,
                                   const Problem& problem, const Shape& shape);

class TunedConfigs {
 public:
  struct Options {
    bool skip = false;                  // nothing is found
    std::filesystem::path directory{};  // further tuning files; empty: none
    bool shipped = true;
  };
  // A file of the directory that cannot be read is logged and passed over.
  TunedConfigs(std::shared_ptr<Store> store, Options options, Logger log);

  std::optional<TunedConfig> find(const KernelFamily& family, const Problem& problem,
                                  const Shape& shape, const DeviceInfo& device);
  // Puts it into the store; later look-ups see it. False: kept in memory only.
  bool put(const Tuning& tuning);

 private:
  struct Row {
    Tuning tuning;
    Problem problem;
    Shape shape;
    KernelConfig config;
    std::string source;
  };
  const std::vector<Row>& rows_of(const DeviceInfo& device);
  void add(std::vector<Row>& rows, std::vector<Tuning> tunings, const std::string& source,
           const std::string& device);
  std::vector<std::pair<std::string, std::vector<Tuning>>> files_;  // name, rows

  std::shared_ptr<Store> store_;
  Options options_;
  Logger log_;
  std::mutex mutex_;
  std::map<std::string, std::vector<Row>> rows_;  // by device identity
};

}  // namespace ffpa_jit
