// Warp-wide instructions: how lanes meet, and bar.warp.sync, shfl.sync, vote.sync, elect.sync. PTX
// ISA, "Parallel Synchronization and Communication Instructions", "Data Movement and Conversion
// Instructions: shfl.sync".
#pragma once

#include "device/emulator/scheduler.h"
#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

// Puts the lane's operand down. True: it is the last of `needed`, who must do the instruction's
// work for all lanes and then call leave(). False: somebody else has done it. `aligned`: all lanes
// must come from one place in the program.
bool meet(Fiber& fiber, const void* place, Op op, uint32_t members, bool aligned, void* operand,
          Rendezvous*& rendezvous);
void leave(Fiber& fiber, Rendezvous& rendezvous);

// A whole warp meets at an .aligned instruction; the last lane calls work(operands).
template <typename Work>
void with_warp(Fiber& fiber, const void* place, Op op, void* operand, Work&& work) {
  Rendezvous* rendezvous = nullptr;
  if (!meet(fiber, place, op, 0xffffffffu, true, operand, rendezvous)) return;
  work(rendezvous->operands);
  leave(fiber, *rendezvous);
}

void warp_sync(FfpaEmuThread* self, const void* place, unsigned members);
unsigned shuffle(FfpaEmuThread* self, const void* place, FfpaEmuShuffle kind, unsigned value,
                 unsigned b, unsigned clamp, unsigned members, unsigned* valid);
unsigned vote(FfpaEmuThread* self, const void* place, FfpaEmuVote kind, unsigned predicate,
              unsigned members);
// Whether this lane is the one elected: the same one each time, which of them depends on the
// schedule's seed.
unsigned elect(FfpaEmuThread* self, const void* place, unsigned members);

// A lane of `warp` has left the kernel.
void lane_finished(Warp& warp);

}  // namespace ffpa_jit::emulator
