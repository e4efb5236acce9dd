// ldmatrix and stmatrix. PTX ISA, "Warp Level Matrix Load Instruction: ldmatrix", "... Store ...:
// stmatrix".
#pragma once

#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

void ldmatrix(FfpaEmuThread* self, const void* place, unsigned matrices, unsigned transposed,
              unsigned* to, unsigned address);
void stmatrix(FfpaEmuThread* self, const void* place, unsigned matrices, unsigned transposed,
              const unsigned* from, unsigned address);

}  // namespace ffpa_jit::emulator
