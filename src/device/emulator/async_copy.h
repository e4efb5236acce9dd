// cp.async, its groups and waits. PTX ISA, "Data Movement and Conversion Instructions: Non-bulk
// copy".
#pragma once

#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

void cp_async(FfpaEmuThread* self, const void* place, unsigned to, const void* from, unsigned bytes,
              unsigned source_bytes);
void cp_async_commit(FfpaEmuThread* self, const void* place);
void cp_async_wait(FfpaEmuThread* self, const void* place, unsigned pending_groups);

}  // namespace ffpa_jit::emulator
