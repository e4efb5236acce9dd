// setmaxnreg: the registers that a block's warpgroups hand each other. PTX ISA, "Miscellaneous
// Instructions: setmaxnreg".
#pragma once

#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

void set_max_registers(FfpaEmuThread* self, const void* place, unsigned registers,
                       unsigned increases);

}  // namespace ffpa_jit::emulator
