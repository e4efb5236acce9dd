// ffpa-jit env: every environment variable of the library, its value, where that comes from, what
// it means.
#include <CLI/CLI.hpp>

#include "ffpa-jit/output.h"
#include "ffpa-jit/session.h"
#include "policy/environment.h"

namespace ffpa_jit::cli {
namespace {

int env(const Session& session) {
  const Environment environment = Environment::read();
  for (const std::string& warning : environment.warnings())
    fmt::print(stderr, "warning: {}\n", warning);
  if (session.json) {
    Json out = Json::array();
    for (const EnvironmentEntry& entry : environment.entries()) {
      const EnvironmentVariable& variable = *entry.variable;
      out.push_back({{"name", variable.name},
                     {"value", entry.value},
                     {"source", entry.source},
                     {"default", variable.default_value},
                     {"alias", variable.alias},
                     {"type", variable.type},
                     {"allowed", variable.allowed},
                     {"meaning", variable.meaning}});
    }
    print_json({{"variables", out}, {"cache_directory", environment.cache_directory().string()}});
    return kOk;
  }
  Table table({{"variable"}, {"value"}, {"from"}, {"meaning"}});
  for (const EnvironmentEntry& entry : environment.entries()) {
    table.add({std::string(entry.variable->name), entry.value.empty() ? "-" : entry.value,
               entry.source, std::string(entry.variable->meaning)});
  }
  table.print();
  return kOk;
}

}  // namespace

void add_env_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "env", "List the environment variables: value, where it comes from, meaning");
  add_common_options(*command, session);
  command->callback([&session] { session.action = [&session] { return env(session); }; });
}

}  // namespace ffpa_jit::cli
