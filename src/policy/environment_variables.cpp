// The table of environment variables: one row each, with how its text becomes a value.
#include <algorithm>
#include <charconv>
#include <limits>

#include "base/error.h"
#include "policy/environment.h"

namespace ffpa_jit {
namespace {

constexpr std::string_view kFlagAllowed = "1, true, on, yes, or 0, false, off, no";

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::optional<int64_t> whole_number(std::string_view text, int64_t min, int64_t max) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < min || number > max) return std::nullopt;
  return number;
}

// "4G", "512m", "1048576": a whole number and an optional power of 1024.
std::optional<int64_t> byte_count(std::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    constexpr std::string_view kSuffixes = "kmgt";
    const size_t suffix = kSuffixes.find(lower(text.substr(text.size() - 1)));
    if (suffix != std::string_view::npos) {
      shift = 10 * static_cast<int>(suffix + 1);
      text.remove_suffix(1);
    }
  }
  const auto number = whole_number(text, 0, std::numeric_limits<int64_t>::max() >> shift);
  if (!number) return std::nullopt;
  return *number << shift;
}

template <bool Environment::*member>
bool store_flag(Environment& environment, std::string_view value) {
  const std::string word = lower(value);
  const bool on = word == "1" || word == "true" || word == "on" || word == "yes";
  const bool off = word == "0" || word == "false" || word == "off" || word == "no";
  environment.*member = on;
  return on || off;
}

template <auto member>  // a std::string or a path: any text
bool store_text(Environment& environment, std::string_view value) {
  environment.*member = value;
  return true;
}

bool store_cache_path(Environment& environment, std::string_view value) {
  environment.cache_path.clear();
  while (!value.empty()) {
    const std::string_view part = value.substr(0, value.find(':'));
    if (!part.empty()) environment.cache_path.emplace_back(part);
    value.remove_prefix(std::min(value.size(), part.size() + 1));
  }
  return true;
}

bool store_cache_limit(Environment& environment, std::string_view value) {
  const auto bytes = byte_count(value);
  environment.cache_limit_bytes = bytes.value_or(0);
  return bytes.has_value();
}

bool store_compiler_match(Environment& environment, std::string_view value) {
  const std::string word = lower(value);
  environment.compiler_match = word == "exact" ? CompilerMatch::kExact : CompilerMatch::kPreferred;
  return word == "exact" || word == "preferred";
}

bool store_log_level(Environment& environment, std::string_view value) {
  constexpr std::pair<std::string_view, spdlog::level::level_enum> kLevels[] = {
      {"debug", spdlog::level::debug},  {"info", spdlog::level::info},
      {"warning", spdlog::level::warn}, {"error", spdlog::level::err},
      {"off", spdlog::level::off},
  };
  const std::string word = lower(value);
  for (const auto& [name, level] : kLevels) {
    if (name != word) continue;
    environment.log_level = level;
    return true;
  }
  return false;
}

bool store_policy(Environment& environment, std::string_view value) {
  const std::string word = lower(value);
  environment.policy = word == "reference" ? Policy::kReference : Policy::kNative;
  return word == "reference" || word == "native";
}

bool store_num_threads(Environment& environment, std::string_view value) {
  const auto number = whole_number(value, 0, 4096);
  environment.num_threads = static_cast<int>(number.value_or(0));
  return number.has_value();
}

bool store_compile_time_limit(Environment& environment, std::string_view value) {
  const auto number = whole_number(value, 1, 86'400'000);
  environment.compile_time_limit = std::chrono::milliseconds(number.value_or(0));
  return number.has_value();
}

bool store_cpu_level(Environment& environment, std::string_view value) {
  const auto levels = architectures(TargetKind::kCpu);
  if (std::find(levels.begin(), levels.end(), value) == levels.end()) return false;
  environment.cpu_level = Target{TargetKind::kCpu, std::string(value)};
  return true;
}

bool store_autotune(Environment& environment, std::string_view value) {
  const std::string word = lower(value);
  environment.autotune = tune_mode_of(word);
  return environment.autotune.has_value() || word == "off";
}

bool store_emulator_schedule(Environment& environment, std::string_view value) {
  using emulator::Order;
  const std::string word = lower(value);
  constexpr std::string_view kShuffle = "shuffle:";
  if (word.starts_with(kShuffle)) {
    const auto seed = whole_number(std::string_view(word).substr(kShuffle.size()), 0,
                                   std::numeric_limits<int64_t>::max());
    environment.emulator_schedule = {Order::kShuffle, static_cast<uint64_t>(seed.value_or(0))};
    return seed.has_value();
  }
  environment.emulator_schedule = {word == "early" ? Order::kEarly : Order::kLate, 0};
  return word == "late" || word == "early";
}

constexpr EnvironmentVariable kVariables[] = {
    {"FFPA_JIT_CACHE_DIR", "", "path", "", "a directory; it is created when absent",
     "Where compiled kernels are kept. Unset: $XDG_CACHE_HOME/ffpa_jit, else ~/.cache/ffpa_jit.",
     "0.1.0", store_text<&Environment::cache_dir>},
    {"FFPA_JIT_CACHE_PATH", "", "path list", "", "files separated by ':'",
     "Read-only kernel bundles (made by `ffpa-jit cache export`), looked up in order after the "
     "user's cache.",
     "0.1.0", store_cache_path},
    {"FFPA_JIT_CACHE_LIMIT", "", "bytes", "4G",
     "a whole number of bytes, or one followed by K, M, G or T (powers of 1024)",
     "Size of the user's cache beyond which the least recently used kernels are dropped.", "0.1.0",
     store_cache_limit},
    {"FFPA_JIT_COMPILER_MATCH", "", "choice", "preferred", "preferred, exact",
     "preferred: a cached kernel of another compiler version serves when this machine's has none. "
     "exact: it does not.",
     "0.1.0", store_compiler_match},
    {"FFPA_JIT_TEMPLATE_DIR", "", "path", "", "a directory laid out like templates/",
     "Files found there replace the embedded templates of the same name; for kernel authors.",
     "0.1.0", store_text<&Environment::template_dir>},
    {"FFPA_JIT_LOG_LEVEL", "FFPA_LOGGER_LEVEL", "choice", "warning",
     "debug, info, warning, error, off", "The least severe messages that are logged.", "0.1.0",
     store_log_level},
    {"FFPA_JIT_POLICY", "", "choice", "native", "native, reference",
     "native: own kernels wherever one can serve. reference: short sequences go to the fallback, "
     "as in FFPA.",
     "0.1.0", store_policy},
    {"FFPA_JIT_NUM_THREADS", "", "count", "0", "0 to 4096",
     "Threads of CPU attention. 0: every core this process may use.", "0.1.0", store_num_threads},
    {"FFPA_JIT_COMPILE_TIME_LIMIT", "", "milliseconds", "120000", "1 to 86400000",
     "A compile that takes longer fails with TIMEOUT.", "0.1.0", store_compile_time_limit},
    {"FFPA_JIT_CPU_LEVEL", "", "choice", "",
     "x86-64, x86-64-v3, x86-64-v4, x86-64-v4-bf16, x86-64-v4-amx",
     "The highest CPU level that kernels are made for. Unset, or above this processor's: this "
     "processor's.",
     "0.1.0", store_cpu_level},
    {"FFPA_JIT_NVRTC", "", "path", "",
     "a library file, a name that the dynamic loader finds, or a directory that holds one (a CUDA "
     "toolkit, the site-packages of NVIDIA's wheels)",
     "The NVRTC library to load. Unset: what the dynamic loader finds as libnvrtc.so, then "
     "toolkits under /usr/local, newest first.",
     "0.1.0", store_text<&Environment::nvrtc>},
    {"FFPA_JIT_CLANG_PLUGIN", "", "path", "", "a library file",
     "The Clang plugin to load. Unset: libffpa_jit_clang.so beside the library, or in the ffpa_jit "
     "folder there.",
     "0.1.0", store_text<&Environment::clang_plugin>},
    {"FFPA_JIT_FAMILY", "", "text", "",
     "the name of a kernel family (`ffpa-jit explain` lists them)",
     "The family for every call that names none itself.", "0.1.0",
     store_text<&Environment::family>},
    {"FFPA_JIT_SKIP_TUNED", "FFPA_SKIP_PERSISIT_TUNED_CONFIG", "flag", "0", kFlagAllowed,
     "1: every kernel takes its family's default config; tunings, shipped ones and this machine's "
     "own, are not read.",
     "0.1.0", store_flag<&Environment::skip_tuned>},
    {"FFPA_JIT_TUNED_CONFIG_DIR", "FFPA_TUNED_CONFIG_DIR", "path", "",
     "a directory of .json files as `ffpa-jit tune --export` writes them",
     "Tunings read after this machine's own and before those shipped with the library.", "0.1.0",
     store_text<&Environment::tuned_config_dir>},
    {"FFPA_JIT_AUTOTUNE", "", "choice", "off", "off, fast, max",
     "What the first call of a problem that has no tuning does. off: it takes the default config. "
     "fast, max: it measures other configs as `ffpa-jit tune` does, in this process, and keeps the "
     "result.",
     "0.1.0", store_autotune},
    {"FFPA_JIT_RECORD", "", "path", "", "a file; it is created when absent and appended to",
     "The problems that this process runs, one JSON line each, for `ffpa-jit tune --from`.",
     "0.1.0", store_text<&Environment::record>},
    {"FFPA_JIT_EMULATOR_SCHEDULE", "", "choice", "late",
     "late, early, or shuffle: followed by a seed (a whole number)",
     "How the emulator orders what hardware leaves open. late: asynchronous copies land when they "
     "are waited for, warps run in order. early: copies land at once. shuffle: late, and the next "
     "thread to run is drawn at random.",
     "0.1.0", store_emulator_schedule},
    {"FFPA_JIT_EMULATOR_RACES", "", "flag", "1", kFlagAllowed,
     "0: the emulator does not look for races and reads of never-written shared memory, and runs "
     "faster.",
     "0.1.0", store_flag<&Environment::emulator_races>},
    {"FFPA_JIT_ALLOW_SMALL_D", "", "flag", "1", kFlagAllowed,
     "0: on GPUs, head dims up to 256 go to the fallback, whichever backend is asked for.", "0.1.0",
     store_flag<&Environment::allow_small_d>},
    {"FFPA_CUDA_ALLOW_SMALL_D", "", "flag", "1", kFlagAllowed,
     "0: as FFPA_JIT_ALLOW_SMALL_D=0, for calls that ask for the CUDA backend.", "0.1.0",
     store_flag<&Environment::cuda_allow_small_d>},
    {"FFPA_TRITON_ALLOW_SMALL_D", "", "flag", "1", kFlagAllowed,
     "0: as FFPA_JIT_ALLOW_SMALL_D=0, for calls that ask for the Triton backend or for none.",
     "0.1.0", store_flag<&Environment::triton_allow_small_d>},
    {"FFPA_CUTE_ALLOW_SMALL_D", "", "flag", "1", kFlagAllowed,
     "0: as FFPA_JIT_ALLOW_SMALL_D=0, for calls that ask for the CuTe backend.", "0.1.0",
     store_flag<&Environment::cute_allow_small_d>},
    {"FFPA_FORCE_NO_SDPA_FALLBACK", "FFPA_JIT_FORCE_NO_FALLBACK", "flag", "0", kFlagAllowed,
     "1: where routing would take a call from a family that could have served it, the call fails "
     "with UNSUPPORTED.",
     "0.1.0", store_flag<&Environment::force_no_fallback>},
};

}  // namespace

std::span<const EnvironmentVariable> environment_variables() { return kVariables; }

std::string_view name_of(Policy policy) {
  return policy == Policy::kReference ? "reference" : "native";
}

std::string environment_document() {
  std::string text =
      "# Environment variables\n"
      "\n"
      "<!-- Written by the build target `environment_document` from "
      "src/policy/environment_variables.cpp. -->\n"
      "\n"
      "Read once, when a runtime is created; `ffpa-jit env` shows the values in effect and where "
      "each comes from.\n"
      "An option given to `ffpa_jit_runtime_create` or on a command line goes before its "
      "variable.\n"
      "\n"
      "- An empty value counts as unset.\n"
      "- A value that does not fit is an error (`INVALID_ARGUMENT`) that names the variable, the "
      "value and what is\n"
      "  allowed; it is never ignored. Choices and flags are read in any letter case, CPU levels "
      "as written.\n"
      "- An alias is read where the variable itself is not set.\n"
      "- A variable that begins with `FFPA_JIT_` and is not listed here has no effect; one warning "
      "says so and names\n"
      "  the closest one that exists.\n"
      "- Empty parts of a path list are skipped.\n"
      "\n";
  for (const EnvironmentVariable& v : kVariables) {
    text += fmt::format("## `{}`\n\n{}\n\n", v.name, v.meaning);
    text += fmt::format("- Type: {}. Allowed: {}.\n", v.type, v.allowed);
    text += v.default_value.empty() ? "- Default: unset.\n"
                                    : fmt::format("- Default: `{}`.\n", v.default_value);
    if (!v.alias.empty()) text += fmt::format("- Alias: `{}`.\n", v.alias);
    text += fmt::format("- Since: {}.\n\n", v.since);
  }
  text.pop_back();
  return text;
}

}  // namespace ffpa_jit
