// Warpgroups, four warps that execute wgmma and setmaxnreg together: how their threads meet, and
// the state of what they have under way. Used by the instructions of warpgroups.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

constexpr unsigned kWarpgroupThreads = kWarpgroup * kWarpSize;

// The accumulator of one or more wgmma: the lanes' arrays, and the matrix that is computed with
// while they are in use.
struct Accumulator {
  unsigned columns = 0;
  unsigned pending = 0;                           // wgmma that have not been waited for
  uint32_t place = 0;                             // of the last wgmma on it
  std::array<float*, kWarpgroupThreads> lanes{};  // null: the lane has not issued yet
  std::array<bool, kWarpgroupThreads> taken{};    // the lane's array is in use
  // Not in use: the thread has touched it, and has passed no wgmma.fence since.
  std::array<bool, kWarpgroupThreads> touched{};
  std::vector<float> matrix;  // [64][columns]

  uint64_t begin(unsigned lane) const { return reinterpret_cast<uint64_t>(lanes[lane]); }
  uint64_t end(unsigned lane) const { return begin(lane) + columns / 2 * sizeof(float); }
};

// One wgmma.
struct Multiply {
  FfpaEmuWgmma shape{};
  const void* place = nullptr;
  uint64_t a = 0, b = 0;  // descriptors
  bool accumulates = false, a_in_registers = false;
  unsigned accumulator = 0;  // index
  unsigned issued = 0;       // lanes that have
  uint32_t group = 0;        // from 1; 0: not committed
  bool done = false;
  std::array<std::array<unsigned, 4>, kWarpgroupThreads> registers;
};

struct Warpgroup {
  Block* block = nullptr;
  unsigned index = 0;  // in the block

  // Threads at an instruction of the whole warpgroup.
  unsigned arrived = 0;
  Op op = Op::kNone;
  unsigned detail = 0;
  const void* place = nullptr;

  uint64_t first = 0;  // number of multiplies[0]
  std::vector<std::unique_ptr<Multiply>> multiplies, spare;
  std::vector<std::unique_ptr<Accumulator>> accumulators;
  uint32_t groups_over = 0;
  unsigned actor = 0;
  std::vector<uint16_t> known, fenced;  // what all four warps know
  unsigned registers = 0;               // of a thread, setmaxnreg
};

// The warpgroup of a thread; ends the launch where its four warps are not there.
Warpgroup& warpgroup_of(Fiber& fiber, const void* place, Op op);
inline unsigned lane_in_warpgroup(const Fiber& fiber) {
  return fiber.thread->warp % kWarpgroup * kWarpSize + fiber.thread->lane;
}
inline Fiber& thread_of(const Warpgroup& group, unsigned lane) {
  Warp& warp = group.block->cluster
                   ->warps[group.block->first_warp + kWarpgroup * group.index + lane / kWarpSize];
  return warp.fibers[lane % kWarpSize];
}

// All threads of the warpgroup meet at one place. True: this is the last one, who does the work and
// then calls go_on(). False: somebody else has.
bool meet_warpgroup(Fiber& fiber, Warpgroup& group, const void* place, Op op, unsigned detail);
void go_on(Fiber& fiber, Warpgroup& group);

}  // namespace ffpa_jit::emulator
