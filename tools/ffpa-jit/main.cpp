// ffpa-jit: the command line. Parses, then runs the one subcommand that was asked for.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "base/closest_name.h"
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

// "--hed-dim is not known; --head-dim may be meant", for the first flag that no command in use has;
// CLI11's own words where all are known.
std::string what_is_wrong(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<const CLI::App*> in_use = [&] {
    std::vector<const CLI::App*> out{&app};
    for (size_t i = 0; i < out.size(); ++i) {
      for (const CLI::App* command : out[i]->get_subcommands()) out.push_back(command);
    }
    return out;
  }();
  std::string unknown;
  std::vector<std::string_view> known;
  for (const CLI::App* command : in_use) {
    for (const std::string& extra : command->remaining()) {
      const size_t name = extra.find_first_not_of('-');
      const bool flag = name != 0 && name != std::string::npos && std::isalpha(extra[name]);
      if (flag && unknown.empty()) unknown = extra.substr(0, extra.find('='));
    }
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back(name);
    }
  }
  if (unknown.empty()) return error.what();
  return fmt::format("{} is not known; --{} may be meant", unknown,
                     ffpa_jit::closest_name(unknown.substr(unknown.find_first_not_of('-')), known));
}

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
               what_is_wrong(app, error));
    return kBadInput;
  }
  return run_guarded(session);
}
