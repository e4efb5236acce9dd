// ffpa-jit: the command line. Parses, then runs the one subcommand that was asked for.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string_view>

#include "ffpa-jit/session.h"

namespace {

constexpr const char* kAbout =
    "Attention kernels generated, compiled, cached and launched while the program runs.\n"
    "\n"
    "  ffpa-jit run --device cpu --causal --head-dim 128      compute, check against fp64, time\n"
    "  ffpa-jit run --input qkv.safetensors                   the same on tensors of a file\n"
    "  ffpa-jit warmup config.json --target sm_90a,cpu        compile a model's kernels ahead\n"
    "  ffpa-jit tune --from problems.jsonl --gpus all         measure configs, keep the fastest\n"
    "  ffpa-jit explain --device cpu --head-dim 512           which kernel serves, and why\n"
    "  ffpa-jit doctor                                        what this machine lacks, and what "
    "that costs\n";

constexpr const char* kExitCodes =
    "Exit codes: 0 ok; 1 a result out of tolerance, a kernel that failed, or damage found; 2 wrong "
    "flags or\n"
    "input; 3 no such device, driver or compiler here, or nothing serves the problem; 4 any other "
    "error.\n"
    "Data goes to stdout, messages to stderr.";

bool has_command(const CLI::App& app, std::string_view name) {
  const auto named = [name](const CLI::App* command) { return command->get_name() == name; };
  return !app.get_subcommands(named).empty();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ffpa_jit::cli;
  CLI::App app(kAbout, "ffpa-jit");
  app.set_version_flag("--version", std::string(ffpa_jit_version()));
  app.footer(kExitCodes);
  app.require_subcommand(1);
  app.get_formatter()->column_width(38);
  Session session;
  add_common_options(app, session);
  add_run_command(app, session);
  add_warmup_command(app, session);
  add_explain_command(app, session);
  add_source_command(app, session);
  add_render_command(app, session);
  add_cache_command(app, session);
  add_devices_command(app, session);
  add_env_command(app, session);
  add_doctor_command(app, session);
  add_tune_command(app, session);
  add_tune_worker_command(app, session);
  add_bench_command(app, session);
  add_verify_command(app, session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);  // --help, --version
  } catch (const CLI::ParseError& error) {
    if (argc > 1 && argv[1][0] != '-' && !has_command(app, argv[1])) {
      fmt::print(stderr, "ffpa-jit: there is no command '{}'; ffpa-jit --help lists the commands\n",
                 argv[1]);
      return kBadInput;
    }
    fmt::print(stderr,
               "ffpa-jit: {}\nffpa-jit --help, or ffpa-jit COMMAND --help, lists what is allowed\n",
               error.what());
    return kBadInput;
  }
  return run_guarded(session);
}
