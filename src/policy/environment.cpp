#include "policy/environment.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/closest_name.h"
#include "base/error.h"
#include "problem/canonical_text.h"

namespace ffpa_jit {

// Rows of the table: environment_variables.cpp. Here: how a process's settings become values.

namespace {

constexpr std::string_view kOwnPrefix = "FFPA_JIT_";

bool is_known(std::string_view name) {
  const auto table = environment_variables();
  return std::any_of(table.begin(), table.end(), [&](const EnvironmentVariable& v) {
    return v.name == name || (!v.alias.empty() && v.alias == name);
  });
}

std::string_view closest_variable(std::string_view name) {
  std::vector<std::string_view> names;
  for (const EnvironmentVariable& variable : environment_variables()) {
    names.push_back(variable.name);
  }
  return closest_name(name, names);
}

}  // namespace

Environment::Environment() {
  for (const EnvironmentVariable& variable : environment_variables()) {
    if (!variable.default_value.empty()) variable.store(*this, variable.default_value);
    entries_.push_back({&variable, std::string(variable.default_value), "default"});
  }
}

Environment Environment::from(std::span<const Setting> settings) {
  std::map<std::string_view, std::string_view> set;
  for (const auto& [name, value] : settings) {
    if (!value.empty()) set.emplace(name, value);
  }

  Environment environment;
  std::string malformed;
  for (EnvironmentEntry& entry : environment.entries_) {
    const EnvironmentVariable& variable = *entry.variable;
    auto found = set.find(variable.name);
    if (found == set.end() && !variable.alias.empty()) found = set.find(variable.alias);
    if (found == set.end()) continue;
    entry.value = found->second;
    entry.source = found->first;
    if (variable.store(environment, found->second)) continue;
    malformed +=
        fmt::format("{}environment variable {} is {}; allowed: {}", malformed.empty() ? "" : "\n",
                    found->first, in_quotes(found->second), variable.allowed);
  }
  if (!malformed.empty()) throw Error(FFPA_JIT_INVALID_ARGUMENT, malformed);

  for (const auto& [name, value] : set) {
    if (name.starts_with(kOwnPrefix) && !is_known(name)) {
      environment.warnings_.push_back(fmt::format(
          "environment variable {} is not known and has no effect; the closest known name is {}",
          name, closest_variable(name)));
    }
  }
  if (auto found = set.find("XDG_CACHE_HOME"); found != set.end()) {
    environment.xdg_cache_home_ = found->second;
  }
  if (auto found = set.find("HOME"); found != set.end()) environment.home_ = found->second;
  return environment;
}

Environment Environment::read() {
  std::vector<Setting> settings;
  for (char** line = environ; line && *line; ++line) {
    const std::string_view text(*line);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return from(settings);
}

std::filesystem::path Environment::cache_directory() const {
  if (!cache_dir.empty()) return cache_dir;
  // The XDG base directory specification: a relative XDG_CACHE_HOME is invalid and must be ignored.
  if (xdg_cache_home_.starts_with('/')) return std::filesystem::path(xdg_cache_home_) / "ffpa_jit";
  if (!home_.empty()) return std::filesystem::path(home_) / ".cache" / "ffpa_jit";
  return {};
}

}  // namespace ffpa_jit
