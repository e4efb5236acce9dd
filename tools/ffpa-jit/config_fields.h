// One object of a config.json, read field by field: types and ranges are checked, messages name
// file and field. Called by model_config.cpp and model_layers.cpp.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ffpa_jit::cli {

// A value as a message shows it.
std::string short_text(const nlohmann::json& value);

class ConfigFields {
 public:
  // `prefix` is the path that messages put before names: "text_config.".
  ConfigFields(const nlohmann::json& object, std::string prefix, const std::string& file)
      : object_(object), prefix_(std::move(prefix)), file_(file) {}

  [[noreturn]] void fail(std::string_view field, const std::string& what) const;
  [[noreturn]] void fail_missing(std::string_view field) const;

  // The value, or nullptr when absent. `null` is a value.
  const nlohmann::json* find(std::string_view field) const { return find_named(field).second; }
  bool is_null(std::string_view field) const;
  // The name under which the file has the field: older models have names of their own.
  std::string_view name_of(std::string_view field) const { return find_named(field).first; }

  // nullopt (nullptr) when absent or null. Throw Error INVALID_ARGUMENT for another type or a value
  // out of range.
  std::optional<int64_t> integer(std::string_view field, int64_t least, int64_t most) const;
  std::optional<double> number(std::string_view field) const;  // 0 to 1e9
  std::optional<bool> boolean(std::string_view field) const;
  std::optional<std::string> text(std::string_view field) const;
  const nlohmann::json* array(std::string_view field) const;

 private:
  std::pair<std::string_view, const nlohmann::json*> find_named(std::string_view field) const;

  const nlohmann::json& object_;
  std::string prefix_;
  const std::string& file_;
};

}  // namespace ffpa_jit::cli
