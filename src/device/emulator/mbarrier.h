// mbarriers: arrivals, bytes, phases. PTX ISA, "Parallel Synchronization and Communication
// Instructions: mbarrier".
//
// The 8 bytes in shared memory say which of Block::mbarriers they are, so that an object that plain
// stores have overwritten is noticed.
#pragma once

#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

void mbarrier_init(FfpaEmuThread* self, const void* place, unsigned address, unsigned arrivals);
void mbarrier_arrive(FfpaEmuThread* self, const void* place, unsigned address, unsigned arrivals,
                     unsigned expected, unsigned in_cluster);
unsigned mbarrier_wait(FfpaEmuThread* self, const void* place, unsigned address, unsigned parity,
                       unsigned polls);

// The mbarrier at an offset in `block`, which must be one.
Mbarrier& mbarrier_at(Fiber& fiber, const void* place, Op op, Block& block, uint32_t offset);

// What was counted in phase `issued` has come. Empty, or what is wrong.
std::string complete_bytes(Block& block, Mbarrier& barrier, uint32_t issued, uint32_t bytes);

// fence.mbarrier_init: the thread's inits are known to the asynchronous proxy.
void fence_inits(Fiber& fiber);

// "phase 3 is under way: 1 of 4 arrivals and 1024 bytes are missing"
std::string state_text(const Mbarrier& barrier);
std::string waiting_text(const Block& block, unsigned offset, unsigned parity);

// A thread that polls is let go without success.
void stop_polling(Fiber& fiber);

}  // namespace ffpa_jit::emulator
