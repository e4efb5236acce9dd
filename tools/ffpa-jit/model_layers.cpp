// layer_types, patterns, intervals, chunks.
#include "ffpa-jit/model_layers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace ffpa_jit::cli {
namespace {

using nlohmann::json;

constexpr int kLayerLimit = 4096;
constexpr int64_t kLengthLimit = int64_t{1} << 31;

// Layers of hybrid models that hold no attention of the kind computed here.
constexpr std::array<std::string_view, 5> kOtherLayers = {"linear_attention", "mamba", "mamba2",
                                                          "conv", "recurrent"};
constexpr std::array<std::string_view, 4> kWindowOffByDefault = {"qwen2", "qwen2_moe", "qwen3",
                                                                 "qwen3_moe"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

Layer full_layer() { return {LayerKind::kFull, "full_attention"}; }
Layer sliding_layer() { return {LayerKind::kSliding, "sliding_attention"}; }
Layer chunked_layer() { return {LayerKind::kChunked, "chunked_attention"}; }

std::vector<Layer> layers_by_name(const ConfigFields& fields, const json& names, int count) {
  if (static_cast<int>(names.size()) != count) {
    fields.fail("layer_types", fmt::format("lists {} layers, '{}' is {}", names.size(),
                                           fields.name_of("num_hidden_layers"), count));
  }
  std::vector<Layer> layers;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string name =
        names[i].is_string() ? names[i].get<std::string>() : short_text(names[i]);
    if (name == "full_attention" || name == "attention" || name == "global") {
      layers.push_back(full_layer());
    } else if (name == "sliding_attention" || name == "sliding_window" || name == "local") {
      layers.push_back(sliding_layer());
    } else if (name == "chunked_attention") {
      layers.push_back(chunked_layer());
    } else if (contains(kOtherLayers, name)) {
      layers.push_back({LayerKind::kOther, name});
    } else {
      fields.fail(
          fmt::format("layer_types[{}]", i),
          fmt::format("is '{}'; known: full_attention, sliding_attention, chunked_attention, {}",
                      name.substr(0, 60), fmt::join(kOtherLayers, ", ")));
    }
  }
  return layers;
}

std::vector<Layer> layers_by_pattern(int count, int64_t pattern, const Layer& usual) {
  std::vector<Layer> layers;
  for (int i = 0; i < count; ++i) layers.push_back((i + 1) % pattern == 0 ? full_layer() : usual);
  return layers;
}

// EXAONE writes the pattern as letters, "LLLG".
std::vector<Layer> layers_by_letters(const ConfigFields& fields, const std::string& letters,
                                     int count) {
  if (letters.empty() || letters.find_first_not_of("LG") != std::string::npos) {
    fields.fail("sliding_window_pattern",
                fmt::format("is '{}'; a number, or letters L (local) and G (global), is expected",
                            letters.substr(0, 60)));
  }
  std::vector<Layer> layers;
  for (int i = 0; i < count; ++i) {
    layers.push_back(letters[i % letters.size()] == 'G' ? full_layer() : sliding_layer());
  }
  return layers;
}

// Llama 4: rotary layers attend inside chunks, the others to everything.
std::vector<Layer> llama4_layers(const ConfigFields& fields, int count) {
  const json* rope = fields.array("no_rope_layers");
  if (!rope || rope->empty()) {
    return layers_by_pattern(count,
                             fields.integer("no_rope_layer_interval", 1, kLayerLimit).value_or(4),
                             chunked_layer());
  }
  if (static_cast<int>(rope->size()) < count) {
    fields.fail("no_rope_layers", fmt::format("lists {} layers of {}", rope->size(), count));
  }
  std::vector<Layer> layers;
  for (int i = 0; i < count; ++i) {
    const json& flag = (*rope)[i];
    if (!flag.is_number_integer() && !flag.is_boolean()) {
      fields.fail(fmt::format("no_rope_layers[{}]", i),
                  fmt::format("is {}; 0 or 1 is expected", short_text(flag)));
    }
    layers.push_back(flag == json(0) || flag == json(false) ? full_layer() : chunked_layer());
  }
  return layers;
}

}  // namespace

bool window_is_off_by_default(std::string_view model_type) {
  return contains(kWindowOffByDefault, model_type);
}

std::vector<Layer> layers_of(const ConfigFields& fields, const LayerDefaults& defaults,
                             std::string_view model_type, int count, bool windowed) {
  if (const json* names = fields.array("layer_types")) return layers_by_name(fields, *names, count);
  if (fields.integer("attention_chunk_size", 1, kLengthLimit) ||
      (defaults.chunked && !fields.is_null("attention_chunk_size"))) {
    return llama4_layers(fields, count);
  }
  if (const auto interval = fields.integer("full_attention_interval", 1, kLayerLimit)) {
    return layers_by_pattern(count, *interval, {LayerKind::kOther, "linear_attention"});
  }
  if (!windowed) return std::vector<Layer>(count, full_layer());
  for (const std::string_view name : {"sliding_window_pattern", "_sliding_window_pattern"}) {
    const json* pattern = fields.find(name);
    if (pattern && pattern->is_string())
      return layers_by_letters(fields, pattern->get<std::string>(), count);
    if (const auto n = fields.integer(name, 1, kLayerLimit))
      return layers_by_pattern(count, *n, sliding_layer());
  }
  if (defaults.pattern) {
    // gpt-oss begins with a sliding layer and has a full one every second, as the pattern says.
    return layers_by_pattern(count, defaults.pattern, sliding_layer());
  }
  std::vector<Layer> layers(count, sliding_layer());
  if (window_is_off_by_default(model_type)) {
    const int64_t full = fields.integer("max_window_layers", 0, kLayerLimit).value_or(28);
    for (int i = 0; i < std::min<int64_t>(count, full); ++i) layers[i] = full_layer();
  }
  return layers;
}

}  // namespace ffpa_jit::cli
