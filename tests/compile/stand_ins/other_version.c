#include "compile/clang/plugin_api.h"

const ffpa_jit_clang_api* ffpa_jit_clang_plugin(void) {
  static const ffpa_jit_clang_api api = {FFPA_JIT_CLANG_ABI + 1, "clang 0.0", 0, 0, 0};
  return &api;
}
