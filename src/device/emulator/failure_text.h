// A Failure in words, with the places of the program it concerns.
#pragma once

#include <string>

#include "device/emulator/emulated_kernel.h"

namespace ffpa_jit::emulator {

// "emulator: race: ... (...) in sdpa_forward by block (0,0,0) warp 1 lane 3 at templates/...:12;
// written by warp 0 lane 0 at ..."
std::string failure_text(const Failure& failure, const EmulatedKernel& kernel,
                         const Symbolizer& symbolizer);

}  // namespace ffpa_jit::emulator
