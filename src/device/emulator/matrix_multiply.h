// mma.sync. PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions: mma".
#pragma once

#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

void mma(FfpaEmuThread* self, const void* place, const FfpaEmuMma* shape, void* d,
         const unsigned* a, const unsigned* b, const void* c);

}  // namespace ffpa_jit::emulator
