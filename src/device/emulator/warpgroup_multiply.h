// wgmma. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".
//
// A thread that issues one leaves its accumulators to the warpgroup and finds NaN in them until
// wgmma.wait_group gives them back; touching them before is reported. The work is done there
// (Order::kEarly: when the last thread has issued), with what is then in shared memory.
#pragma once

#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

void wgmma(FfpaEmuThread* self, const void* place, const FfpaEmuWgmma* shape, float* d,
           const unsigned* a, unsigned long long descriptor_a, unsigned long long descriptor_b,
           unsigned accumulates);
void wgmma_fence(FfpaEmuThread* self, const void* place);
void wgmma_commit(FfpaEmuThread* self, const void* place);
void wgmma_wait(FfpaEmuThread* self, const void* place, unsigned pending_groups);
void watched(FfpaEmuThread* self, const void* place, const void* memory, unsigned long long bytes,
             unsigned writes);

// A thread leaves the kernel; ends the launch if it has not waited for a wgmma.
void check_multiplies_over(Fiber& fiber);

}  // namespace ffpa_jit::emulator
