// How kernels are compiled: option tables. compile_options() of compiler.h is their sum. A change
// here changes every cache key, as it must.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "problem/target.h"

namespace ffpa_jit {

struct NvrtcOption {
  const char* text;
  // false: does not change the code made, and an NVRTC that does not know it goes without.
  bool required;
};
std::span<const NvrtcOption> nvrtc_options();  // without -arch=

// Arguments of "clang -cc1". Empty: neither a CPU nor an emulated CUDA target.
std::vector<std::string> clang_options(const Target& target);
// Arguments of ld.lld, without inputs and output.
std::vector<const char*> link_options(const Target& target);

}  // namespace ffpa_jit
