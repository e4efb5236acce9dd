// bar.sync, bar.arrive, bar.red. PTX ISA, "Parallel Synchronization and Communication Instructions:
// barrier{.cta}".
#pragma once

#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

void bar_sync(FfpaEmuThread* self, const void* place, unsigned id, unsigned count);
void bar_arrive(FfpaEmuThread* self, const void* place, unsigned id, unsigned count);
unsigned bar_red(FfpaEmuThread* self, const void* place, FfpaEmuReduce reduce, unsigned id,
                 unsigned count, unsigned predicate);

// A thread has left the kernel: barriers of everybody, and warp synchronisations, go without it.
void thread_finished(Fiber& fiber);

}  // namespace ffpa_jit::emulator
