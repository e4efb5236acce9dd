// fence.proxy.async, fence.mbarrier_init. PTX ISA, "Parallel Synchronization and Communication
// Instructions: membar, fence".
#pragma once

#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

void fence(FfpaEmuThread* self, const void* place, FfpaEmuFence kind);

}  // namespace ffpa_jit::emulator
