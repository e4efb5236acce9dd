// The environment variables of the library, as one table, and their values, read once per Runtime.
//
// This is the only place that reads the environment. A value that does not fit its variable is an
// error, never ignored; an empty value counts as unset. docs/environment.md is written from the
// table.
#pragma once

#include <spdlog/common.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/store.h"
#include "device/emulator/options.h"
#include "plan/search_space.h"
#include "problem/target.h"

namespace ffpa_jit {

// native: own kernels wherever one can serve. reference: short sequences go to the fallback, as in
// FFPA.
enum class Policy : uint8_t { kNative, kReference };
std::string_view name_of(Policy policy);

class Environment;

struct EnvironmentVariable {
  std::string_view name;
  std::string_view alias;          // accepted where `name` is not set; "" = none
  std::string_view type;           // "path", "flag", "bytes", ...
  std::string_view default_value;  // as a user would write it; "" = unset
  std::string_view allowed;        // in words, for messages and documentation
  std::string_view meaning;
  std::string_view since;                               // library version
  bool (*store)(Environment&, std::string_view value);  // false: the value is malformed
};

std::span<const EnvironmentVariable> environment_variables();

// What `ffpa-jit env` prints for one variable.
struct EnvironmentEntry {
  const EnvironmentVariable* variable = nullptr;
  std::string value;  // as set, or the default
  std::string
      source;  // "default", or the name of the variable that was set (the alias where that one was)
};

class Environment {
 public:
  using Setting = std::pair<std::string, std::string>;

  // The defaults, as if no variable were set.
  Environment();
  // This process's environment. Throws Error INVALID_ARGUMENT naming each malformed variable, its
  // value and what is allowed.
  static Environment read();
  static Environment from(std::span<const Setting> settings);

  std::filesystem::path cache_dir;  // empty: $XDG_CACHE_HOME/ffpa_jit, else ~/.cache/ffpa_jit
  std::vector<std::filesystem::path> cache_path;  // read-only bundles
  int64_t cache_limit_bytes = 0;
  CompilerMatch compiler_match = CompilerMatch::kPreferred;
  std::filesystem::path template_dir;  // empty: the embedded templates only
  spdlog::level::level_enum log_level = spdlog::level::warn;
  Policy policy = Policy::kNative;
  int num_threads = 0;  // 0: all cores this process may use
  std::chrono::milliseconds compile_time_limit{};
  std::optional<Target> cpu_level;  // the highest CPU level to use; see host_cpu_target_at_most
  std::string nvrtc;                // library to load instead of searching; empty: search
  std::string clang_plugin;
  std::string family;  // forced for every call that names none; empty: routed
  emulator::Schedule emulator_schedule;
  bool emulator_races = true;
  bool skip_tuned = false;                 // no tuned config serves, whatever its source
  std::filesystem::path tuned_config_dir;  // tunings beside those shipped with the library
  std::optional<TuneMode> autotune;  // unset: a problem without a tuning takes the default config
  std::filesystem::path record;      // where the problems that ran are written; empty: nowhere
  bool allow_small_d = true;
  bool cuda_allow_small_d = true;
  bool triton_allow_small_d = true;
  bool cute_allow_small_d = true;
  bool force_no_fallback = false;

  // Every variable of the table, in its order.
  const std::vector<EnvironmentEntry>& entries() const noexcept { return entries_; }
  // One line for each variable that begins with FFPA_JIT_ and is not in the table, with the closest
  // known name.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  // The user's cache directory: cache_dir, or the default below XDG_CACHE_HOME or HOME; empty when
  // there is neither.
  std::filesystem::path cache_directory() const;

 private:
  std::vector<EnvironmentEntry> entries_;
  std::vector<std::string> warnings_;
  std::string xdg_cache_home_;
  std::string home_;
};

// docs/environment.md, whole.
std::string environment_document();

}  // namespace ffpa_jit
