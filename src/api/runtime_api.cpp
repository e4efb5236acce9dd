// ffpa_jit_runtime_*: creating and destroying a Runtime.
#include <cstddef>
#include <string>
#include <utility>

#include "api/boundary.h"
#include "api/handles.h"

namespace ffpa_jit::api {
namespace {

// Size of the struct in its first published version: what every later library still accepts.
constexpr size_t kOldestRuntimeOptions = offsetof(ffpa_jit_runtime_options, autotune);

spdlog::level::level_enum checked_level(int32_t level) {
  switch (level) {
    case FFPA_JIT_LOG_DEBUG:
      return spdlog::level::debug;
    case FFPA_JIT_LOG_INFO:
      return spdlog::level::info;
    case FFPA_JIT_LOG_WARNING:
      return spdlog::level::warn;
    case FFPA_JIT_LOG_ERROR:
      return spdlog::level::err;
    case FFPA_JIT_LOG_OFF:
      return spdlog::level::off;
  }
  throw_error(FFPA_JIT_INVALID_ARGUMENT, "log_level is {}; allowed: 0 (debug) to 4 (off)", level);
}

ffpa_jit_log_level c_level(spdlog::level::level_enum level) {
  if (level <= spdlog::level::debug) return FFPA_JIT_LOG_DEBUG;
  if (level == spdlog::level::info) return FFPA_JIT_LOG_INFO;
  if (level == spdlog::level::warn) return FFPA_JIT_LOG_WARNING;
  return FFPA_JIT_LOG_ERROR;
}

Logger make_logger(const ffpa_jit_runtime_options& options, const Environment& environment) {
  const auto level =
      options.has_log_level ? checked_level(options.log_level) : environment.log_level;
  LogCallback callback;
  if (options.log_callback) {
    callback = [log = options.log_callback, user = options.log_user](
                   spdlog::level::level_enum message_level, std::string_view message) {
      log(user, c_level(message_level), std::string(message).c_str());
    };
  }
  return ffpa_jit::make_logger(level, std::move(callback));
}

std::vector<std::filesystem::path> split_path(std::string_view list) {
  std::vector<std::filesystem::path> paths;
  while (!list.empty()) {
    const size_t end = list.find(':');
    if (end != 0) paths.emplace_back(list.substr(0, end));
    list.remove_prefix(end == std::string_view::npos ? list.size() : end + 1);
  }
  return paths;
}

Policy checked_policy(int32_t policy, Policy otherwise) {
  switch (policy) {
    case FFPA_JIT_POLICY_DEFAULT:
      return otherwise;
    case FFPA_JIT_POLICY_NATIVE:
      return Policy::kNative;
    case FFPA_JIT_POLICY_REFERENCE:
      return Policy::kReference;
  }
  throw_error(FFPA_JIT_INVALID_ARGUMENT,
              "policy is {}; allowed: 0 (default), 1 (native), 2 (reference)", policy);
}

std::optional<TuneMode> checked_autotune(int32_t mode, std::optional<TuneMode> otherwise) {
  switch (mode) {
    case FFPA_JIT_AUTOTUNE_DEFAULT:
      return otherwise;
    case FFPA_JIT_AUTOTUNE_OFF:
      return std::nullopt;
    case FFPA_JIT_AUTOTUNE_FAST:
      return TuneMode::kFast;
    case FFPA_JIT_AUTOTUNE_MAX:
      return TuneMode::kMax;
  }
  throw_error(FFPA_JIT_INVALID_ARGUMENT,
              "autotune is {}; allowed: 0 (default), 1 (off), 2 (fast), 3 (max)", mode);
}

RuntimeOptions runtime_options(const ffpa_jit_runtime_options& c) {
  RuntimeOptions options;
  options.environment = Environment::read();
  const Environment& environment = options.environment;
  options.log = make_logger(c, environment);
  for (const std::string& warning : environment.warnings()) options.log->warn("{}", warning);
  options.store.directory = c.cache_dir ? c.cache_dir : environment.cache_directory();
  if (options.store.directory.empty()) {
    options.log->warn(
        "no cache directory: neither FFPA_JIT_CACHE_DIR nor XDG_CACHE_HOME nor HOME is set; "
        "kernels are kept in "
        "memory only");
  }
  options.store.bundles = c.cache_path ? split_path(c.cache_path) : environment.cache_path;
  options.store.size_limit_bytes = environment.cache_limit_bytes;
  options.store.match = environment.compiler_match;
  options.template_dir = c.template_dir ? c.template_dir : environment.template_dir;
  options.policy = checked_policy(c.policy, environment.policy);
  options.autotune = checked_autotune(c.autotune, environment.autotune);
  if (c.num_threads < 0 || c.compile_time_limit_ms < 0) {
    throw_error(
        FFPA_JIT_INVALID_ARGUMENT,
        "num_threads is {} and compile_time_limit_ms is {}; neither may be negative (0: default)",
        c.num_threads, c.compile_time_limit_ms);
  }
  options.num_threads = c.num_threads ? c.num_threads : environment.num_threads;
  options.compile_time_limit = c.compile_time_limit_ms
                                   ? std::chrono::milliseconds(c.compile_time_limit_ms)
                                   : environment.compile_time_limit;
  if (c.fallback) {
    options.host_fallback = [fallback = c.fallback, user = c.fallback_user](
                                const void* args, const std::string& reason) {
      return fallback(user, static_cast<const ffpa_jit_attention_args*>(args), reason.c_str());
    };
  }
  return options;
}

}  // namespace
}  // namespace ffpa_jit::api

extern "C" {

FFPA_JIT_API ffpa_jit_status ffpa_jit_runtime_create(const ffpa_jit_runtime_options* options,
                                                     ffpa_jit_runtime** out) noexcept {
  using namespace ffpa_jit::api;
  return guarded([&] {
    if (!out) ffpa_jit::throw_error(FFPA_JIT_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    const ffpa_jit_runtime_options defaults = FFPA_JIT_RUNTIME_OPTIONS_INIT;
    const ffpa_jit_runtime_options given =
        options ? versioned(options, kOldestRuntimeOptions, "ffpa_jit_runtime_options", defaults)
                : defaults;
    *out = new ffpa_jit_runtime{ffpa_jit::Runtime(runtime_options(given))};
  });
}

FFPA_JIT_API void ffpa_jit_runtime_destroy(ffpa_jit_runtime* runtime) noexcept { delete runtime; }

}  // extern "C"
