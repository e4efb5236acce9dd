// libFuzzer: any bytes as a model's config.json.
#include <string_view>

#include "base/error.h"
#include "ffpa-jit/model_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  try {
    const auto model =
        ffpa_jit::cli::parse_model_config({reinterpret_cast<const char*>(bytes), size}, "fuzz");
    for (const auto& problem : model.problems) {
      if (problem.heads <= 0 || problem.kv_heads <= 0 || problem.heads % problem.kv_heads != 0 ||
          problem.head_dim <= 0 || problem.head_dim_v <= 0 || problem.layers <= 0) {
        __builtin_trap();
      }
    }
  } catch (const ffpa_jit::Error&) {
  }
  return 0;
}
