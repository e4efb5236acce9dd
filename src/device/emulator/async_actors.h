// Actors that are no warps: what copies or multiplies in the background once a thread has asked for
// it. Each is made on its first use, so that kernels without them do not pay. Used by the
// instructions that start such work; failures name them through name_of_actor().
//
// A bulk copy writes as the actor of the mbarrier that counts it, whose clock is the number of that
// mbarrier's phases over: exactly who has waited for the phase knows of the write. A bulk store
// reads as the actor of its warp, a wgmma as that of its warpgroup, whose clocks are the groups
// waited for.
#pragma once

#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

// The number of a new actor. Ends the launch when there are more than a Tag can name.
unsigned make_actor(Fiber& fiber, const void* place, AsyncActor::Kind kind, const Block& block,
                    unsigned which);

// "the TMA copy counted at the mbarrier at offset 1024", "warp 3 lane 0".
std::string name_of_actor(const Cluster& cluster, uint32_t tag);

// An access on behalf of `fiber` by `actor` at `clock`, of the asynchronous proxy unless `generic`.
AsyncAccessor async_accessor(const Fiber& fiber, const void* place, unsigned actor, uint16_t clock,
                             bool generic = false);

inline uint16_t clock_of_phase(uint32_t phases_over) {
  return static_cast<uint16_t>(phases_over < Clocks::kLast ? phases_over : Clocks::kLast);
}

}  // namespace ffpa_jit::emulator
