// What every subcommand shares: the common flags, exit codes, and how a Runtime is opened.
//
// A subcommand is one file with one function `add_<name>_command`; it declares its flags and leaves
// a function in Session::action, which main() runs after parsing.
#pragma once

#include <functional>
#include <string>

#include "api/handles.h"
#include "base/error.h"
#include "ffpa_jit/ffpa_jit.hpp"

namespace CLI {
class App;
}

namespace ffpa_jit::cli {

// Documented in docs/cli.md and printed by `ffpa-jit --help`.
enum ExitCode : int {
  kOk = 0,
  kFailed = 1,    // a result out of tolerance, a kernel that did not compile, damage in the cache
  kBadInput = 2,  // wrong flags, files or templates
  kUnavailable =
      3,      // no such device, driver or compiler here, or nothing that can serve the problem
  kError = 4  // anything else
};
int exit_code_of(ffpa_jit_status status);

struct Session {
  bool json = false;
  bool dry_run = false;
  bool verbose = false;
  std::string cache_dir;        // empty: from the environment
  std::function<int()> action;  // what was asked for
};

// --json, --cache-dir, --verbose.
void add_common_options(CLI::App& command, Session& session);

struct RuntimeSettings {
  int num_threads = 0;
  ffpa_jit_policy policy = FFPA_JIT_POLICY_DEFAULT;
};
// Attention runs through this. Throws ffpa::Error.
ffpa::Runtime open_runtime(const Session& session, const RuntimeSettings& settings = {});
// What inspection looks into.
inline Runtime& inside(const ffpa::Runtime& runtime) { return runtime.get()->runtime; }

// Its cache, for commands that would work in vain without one. Throws Error CACHE_ERROR where it is
// in memory only.
Store& store_on_disk(const ffpa::Runtime& runtime);

// Runs the action; an error becomes one line on stderr and an exit code.
int run_guarded(const Session& session);

void add_bench_command(CLI::App& app, Session& session);
void add_cache_command(CLI::App& app, Session& session);
void add_devices_command(CLI::App& app, Session& session);
void add_doctor_command(CLI::App& app, Session& session);
void add_env_command(CLI::App& app, Session& session);
void add_explain_command(CLI::App& app, Session& session);
void add_render_command(CLI::App& app, Session& session);
void add_run_command(CLI::App& app, Session& session);
void add_source_command(CLI::App& app, Session& session);
void add_tune_command(CLI::App& app, Session& session);
void add_tune_worker_command(CLI::App& app, Session& session);
void add_verify_command(CLI::App& app, Session& session);
void add_warmup_command(CLI::App& app, Session& session);

}  // namespace ffpa_jit::cli
