// Common flags, and errors turned into exit codes.
#include "ffpa-jit/session.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <new>

namespace ffpa_jit::cli {

int exit_code_of(ffpa_jit_status status) {
  switch (status) {
    case FFPA_JIT_OK:
      return kOk;
    case FFPA_JIT_INVALID_ARGUMENT:
    case FFPA_JIT_IO_ERROR:
    case FFPA_JIT_TEMPLATE_ERROR:
      return kBadInput;
    case FFPA_JIT_UNSUPPORTED:
    case FFPA_JIT_NO_COMPILER:
    case FFPA_JIT_NO_DEVICE:
      return kUnavailable;
    default:
      return kError;
  }
}

void add_common_options(CLI::App& command, Session& session) {
  command.add_flag("--json", session.json, "Machine-readable output on stdout");
  command
      .add_option(
          "--cache-dir", session.cache_dir,
          "Directory of the kernel cache (default: $FFPA_JIT_CACHE_DIR, $XDG_CACHE_HOME/ffpa_jit, "
          "~/.cache/ffpa_jit)")
      ->type_name("DIR");
  command.add_flag("-v,--verbose", session.verbose, "Log what the library does to stderr");
}

ffpa::Runtime open_runtime(const Session& session, const RuntimeSettings& settings) {
  ffpa::RuntimeOptions options;
  if (!session.cache_dir.empty()) options.cache_dir = session.cache_dir;
  if (session.verbose) options.log_level = FFPA_JIT_LOG_DEBUG;
  options.num_threads = settings.num_threads;
  options.policy = settings.policy;
  return ffpa::Runtime(std::move(options));
}

Store& store_on_disk(const ffpa::Runtime& runtime) {
  Store& store = inside(runtime).store();
  const StoreStatistics statistics = store.statistics();
  if (statistics.path.empty()) {
    throw_error(
        FFPA_JIT_CACHE_ERROR,
        "there is no cache on disk: {}; name a directory that you own and can write to with "
        "--cache-dir or FFPA_JIT_CACHE_DIR",
        statistics.reason.empty() ? "no directory is set" : statistics.reason);
  }
  return store;
}

namespace {

int report(ffpa_jit_status status, const char* message) {
  fmt::print(stderr, "ffpa-jit: {}: {}\n", ffpa_jit_status_name(status), message);
  return exit_code_of(status);
}

}  // namespace

int run_guarded(const Session& session) {
  try {
    return session.action();
  } catch (const Error& error) {
    return report(error.code(), error.what());
  } catch (const ffpa::Error& error) {
    return report(error.status(), error.what());
  } catch (const std::bad_alloc&) {
    return report(FFPA_JIT_OUT_OF_MEMORY, "not enough memory on the host");
  } catch (const std::exception& error) {
    return report(FFPA_JIT_INTERNAL, error.what());
  }
}

}  // namespace ffpa_jit::cli
