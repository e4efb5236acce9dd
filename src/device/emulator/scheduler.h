// Switching between the threads of a cluster, and ending them all when something is wrong. Called
// by the instruction files on the threads' own stacks: nothing with a destructor may be alive where
// a function here does not return.
#pragma once

#include <bit>
#include <string>

#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

inline void make_ready(Warp& warp, uint32_t lanes) {
  warp.ready |= lanes;
  if (lanes) warp.block->cluster->ready_warps[warp.index / 64] |= uint64_t{1} << (warp.index % 64);
}
inline void make_ready(Fiber& fiber) { make_ready(*fiber.warp, 1u << fiber.thread->lane); }

// Lets others run until somebody makes `fiber`, the running one, ready.
void park(Fiber& fiber, Op op, const void* place, unsigned detail = 0);

// Ends the cluster's run with this failure.
[[noreturn]] void fail(Fiber& fiber, const void* place, std::string&& what);
[[noreturn]] void fail(Fiber& fiber, Failure&& failure);

// The same from Cluster::failure as it stands, with no thread to blame but the one it names.
[[noreturn]] void leave_failed(Cluster& cluster);
// Cluster::failure concerns this thread.
void blame(Cluster& cluster, const Fiber& fiber);

// Runs every thread of `cluster`, which is set up and has all threads ready, until all have
// finished or one has failed.
void run_cluster(Cluster& cluster);

// The cluster's warp makes progress that later accesses of its other lanes, and of whoever is told,
// can be ordered after.
void advance_clock(Warp& warp);

}  // namespace ffpa_jit::emulator
