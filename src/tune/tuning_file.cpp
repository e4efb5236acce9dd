#include "tune/tuning_file.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "base/error.h"

namespace ffpa_jit {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void fail(const std::string& file, const std::string& what) {
  throw_error(FFPA_JIT_INVALID_ARGUMENT,
              "tuning file {}: {}; `ffpa-jit tune --export` writes such files", file, what);
}

// One row, field by field; names what is missing or of another type.
class Row {
 public:
  Row(const Json& json, const std::string& file, size_t index)
      : json_(json), file_(file), index_(index) {
    if (!json.is_object()) fail(file_, fmt::format("tunings[{}] is no object", index_));
  }

  std::string text(const char* field) const {
    const Json& value = at(field);
    if (!value.is_string()) fail(file_, fmt::format("tunings[{}].{} is no text", index_, field));
    return value.get<std::string>();
  }
  double number(const char* field) const {
    const Json& value = at(field);
    if (!value.is_number()) fail(file_, fmt::format("tunings[{}].{} is no number", index_, field));
    return value.get<double>();
  }

 private:
  const Json& at(const char* field) const {
    const auto found = json_.find(field);
    if (found == json_.end()) fail(file_, fmt::format("tunings[{}] has no {}", index_, field));
    return *found;
  }

  const Json& json_;
  const std::string& file_;
  size_t index_;
};

}  // namespace

std::vector<Tuning> parse_tuning_file(std::string_view text, const std::string& file) {
  Json root;
  try {
    root = Json::parse(text);
  } catch (const Json::exception& error) {
    fail(file, error.what());
  }
  if (!root.is_object() || !root.contains("device") || !root["device"].is_string() ||
      !root.contains("tunings") || !root["tunings"].is_array()) {
    fail(file, "it holds no {\"device\": ..., \"tunings\": [...]}");
  }
  std::vector<Tuning> rows;
  for (size_t i = 0; i < root["tunings"].size(); ++i) {
    const Row row(root["tunings"][i], file, i);
    Tuning t;
    t.key = {root["device"].get<std::string>(), row.text("problem"), row.text("shape")};
    t.family = row.text("family");
    t.config = row.text("config");
    t.median_us = row.number("median_us");
    t.spread_us = row.number("spread_us");
    t.runner_up = row.text("runner_up");
    t.runner_up_us = row.number("runner_up_us");
    t.samples = static_cast<int64_t>(row.number("samples"));
    t.library_version = row.text("library_version");
    t.driver_version = row.text("driver_version");
    rows.push_back(std::move(t));
  }
  return rows;
}

std::vector<Tuning> read_tuning_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw_error(FFPA_JIT_IO_ERROR, "tuning file {} cannot be read", path.string());
  return parse_tuning_file(text.str(), path.string());
}

std::string tuning_file_text(const std::string& device, std::vector<Tuning> rows) {
  std::sort(rows.begin(), rows.end(), [](const Tuning& a, const Tuning& b) {
    return std::tie(a.key.problem, a.key.shape_bucket) <
           std::tie(b.key.problem, b.key.shape_bucket);
  });
  // A row a line, so that a changed tuning is a changed line.
  std::string text = fmt::format("{{\n \"device\": {},\n \"tunings\": [", Json(device).dump());
  for (const Tuning& t : rows) {
    const Json row{{"problem", t.key.problem},
                   {"shape", t.key.shape_bucket},
                   {"family", t.family},
                   {"config", t.config},
                   {"median_us", t.median_us},
                   {"spread_us", t.spread_us},
                   {"runner_up", t.runner_up},
                   {"runner_up_us", t.runner_up_us},
                   {"samples", t.samples},
                   {"library_version", t.library_version},
                   {"driver_version", t.driver_version}};
    text += fmt::format("{}\n  {}", &t == rows.data() ? "" : ",", row.dump());
  }
  return text + "\n ]\n}\n";
}

}  // namespace ffpa_jit
