// Which kind of attention each layer of a model has, by the several ways in which config.json files
// say so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ffpa-jit/config_fields.h"

namespace ffpa_jit::cli {

enum class LayerKind { kFull, kSliding, kChunked, kOther };
struct Layer {
  LayerKind kind = LayerKind::kFull;
  std::string name;  // as layer_types has it
};

struct LayerDefaults {
  int pattern = 0;  // every n-th layer is full; 0: all are alike
  bool chunked = false;
};

// Qwen's classes read sliding_window only when use_sliding_window is true, which is not their
// default.
bool window_is_off_by_default(std::string_view model_type);

// One entry per layer. `windowed`: the model has a sliding window. Throws Error INVALID_ARGUMENT
// naming the field.
std::vector<Layer> layers_of(const ConfigFields& fields, const LayerDefaults& defaults,
                             std::string_view model_type, int count, bool windowed);

}  // namespace ffpa_jit::cli
