// What a model's Hugging Face config.json says about its attention layers: one entry per distinct
// problem.
//
// Called by `ffpa-jit warmup` and its tests. Reads facts only (head counts, dims, windows); a field
// that is missing where nothing stands in for it, or holds something impossible, is an Error naming
// the file and the field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "problem/problem.h"

namespace ffpa_jit::cli {

struct ModelProblem {
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int head_dim_v = 0;
  bool causal = true;
  int64_t window_left = -1;  // inclusive; negative = unlimited
  int64_t window_right = -1;
  double softcap = 0;  // 0 = off
  bool sinks = false;
  DType dtype = DType::kBf16;
  int64_t chunk = 0;       // attention is causal inside chunks of this many tokens; 0 = off
  std::string layer_type;  // "full_attention", "sliding_attention", "chunked_attention", "mla",
                           // "mla_absorbed"
  int layers = 0;

  bool operator==(const ModelProblem&) const = default;
};

struct LayersWithoutAttention {
  std::string layer_type;  // "linear_attention", "mamba", ...
  int layers = 0;

  bool operator==(const LayersWithoutAttention&) const = default;
};

struct ModelAttention {
  std::string model_type;
  std::vector<ModelProblem> problems;  // in order of the first layer that has them
  std::vector<LayersWithoutAttention> skipped;
};

// `file` is for messages. `dtype` overrides the config's. Throws Error INVALID_ARGUMENT.
ModelAttention parse_model_config(std::string_view text, const std::string& file,
                                  std::optional<DType> dtype = std::nullopt);

}  // namespace ffpa_jit::cli
