// The emulator's side of templates/cuda/lib/emu/table.h, which kernels compile too.
#pragma once

namespace ffpa_jit::emulator {
#include "cuda/lib/emu/table.h"
}  // namespace ffpa_jit::emulator
