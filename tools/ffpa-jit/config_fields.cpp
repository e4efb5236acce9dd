// Checked access to the fields of a config.json.
#include "ffpa-jit/config_fields.h"

#include <array>

#include "base/error.h"

namespace ffpa_jit::cli {
namespace {

using nlohmann::json;

struct FieldNames {
  std::string_view name;
  std::array<std::string_view, 3> also;
};
constexpr std::array<FieldNames, 4> kAliases = {{
    {"num_attention_heads", {"n_head", "n_heads", "num_heads"}},
    {"num_hidden_layers", {"n_layer", "n_layers", "num_layers"}},
    {"hidden_size", {"n_embd", "dim", "d_model"}},
    {"dtype", {"torch_dtype", "", ""}},
}};

}  // namespace

std::string short_text(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 60) text.replace(57, std::string::npos, "...");
  return text;
}

void ConfigFields::fail(std::string_view field, const std::string& what) const {
  throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: field '{}{}' {}", file_, prefix_, field, what);
}

void ConfigFields::fail_missing(std::string_view field) const {
  fail(field, "is missing; it is needed to know the attention of this model");
}

bool ConfigFields::is_null(std::string_view field) const {
  const json* value = find(field);
  return value && value->is_null();
}

std::optional<int64_t> ConfigFields::integer(std::string_view field, int64_t least,
                                             int64_t most) const {
  const auto [name, value] = find_named(field);
  if (!value || value->is_null()) return std::nullopt;
  const bool whole = value->is_number_unsigned() || value->is_number_integer();
  const bool fits = whole && (!value->is_number_unsigned() || value->get<uint64_t>() <= INT64_MAX);
  if (!fits || value->get<int64_t>() < least || value->get<int64_t>() > most) {
    fail(name, fmt::format("is {}; a whole number from {} to {} is expected", short_text(*value),
                           least, most));
  }
  return value->get<int64_t>();
}

std::optional<double> ConfigFields::number(std::string_view field) const {
  const auto [name, value] = find_named(field);
  if (!value || value->is_null()) return std::nullopt;
  if (!value->is_number() || !(value->get<double>() >= 0) || value->get<double>() > 1e9) {
    fail(name, fmt::format("is {}; a number from 0 to 1e9 is expected", short_text(*value)));
  }
  return value->get<double>();
}

std::optional<bool> ConfigFields::boolean(std::string_view field) const {
  const auto [name, value] = find_named(field);
  if (!value || value->is_null()) return std::nullopt;
  if (!value->is_boolean())
    fail(name, fmt::format("is {}; true or false is expected", short_text(*value)));
  return value->get<bool>();
}

std::optional<std::string> ConfigFields::text(std::string_view field) const {
  const auto [name, value] = find_named(field);
  if (!value || value->is_null()) return std::nullopt;
  if (!value->is_string()) fail(name, fmt::format("is {}; a text is expected", short_text(*value)));
  return value->get<std::string>();
}

const json* ConfigFields::array(std::string_view field) const {
  const json* value = find(field);
  if (!value || value->is_null()) return nullptr;
  if (!value->is_array()) fail(field, fmt::format("is {}; a list is expected", short_text(*value)));
  return value;
}

std::pair<std::string_view, const json*> ConfigFields::find_named(std::string_view field) const {
  if (const auto it = object_.find(field); it != object_.end()) return {field, &*it};
  for (const FieldNames& names : kAliases) {
    if (names.name != field) continue;
    for (const std::string_view also : names.also) {
      if (const auto it = object_.find(also); !also.empty() && it != object_.end())
        return {also, &*it};
    }
  }
  return {field, nullptr};
}

}  // namespace ffpa_jit::cli
