// Put before a rendered CUDA kernel so that a host C++ compiler takes it: the threads of a block
// are fibers that meet at barriers and warp exchanges. Shows arithmetic, indexing and missing
// barriers; knows nothing of timing or of memory spaces. The instruction wrappers of
// templates/cuda/lib/ are replaced by those in host/cuda/lib/.
#pragma once

#include <math.h>

#include <boost/context/fiber.hpp>
#include <boost/context/pooled_fixedsize_stack.hpp>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
// In a section of its own, so that it can be poisoned between blocks.
#define __shared__ static __attribute__((section("lockstep_shared")))
extern "C" char __start_lockstep_shared[], __stop_lockstep_shared[];

namespace lockstep {

namespace context = boost::context;

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

struct Rendezvous {
  int size = 0, arrived = 0;
  uint64_t generation = 0;
};

struct Block {
  Index thread, block, grid;
  Rendezvous all;
  std::vector<Rendezvous> warps;
  std::vector<float> lanes;  // what each thread brought to a warp exchange
  bool any = false;          // what the block brought to a reduction
  context::fiber scheduler;
  bool progress = false;
};
inline Block block;

inline void pause() {
  const Index mine = block.thread;
  block.scheduler = std::move(block.scheduler).resume();
  block.thread = mine;
}

inline void meet(Rendezvous& place) {
  const uint64_t generation = place.generation;
  if (++place.arrived == place.size) {
    place.arrived = 0;
    ++place.generation;
    block.progress = true;
    return;
  }
  while (place.generation == generation) pause();
}

inline void meet_block() { meet(block.all); }
inline void meet_warp() { meet(block.warps[block.thread.x / 32]); }

inline bool any_of_block(bool mine) {
  block.any = block.any || mine;
  meet_block();
  const bool any = block.any;
  meet_block();
  block.any = false;
  meet_block();
  return any;
}

inline float exchange(float value, unsigned source) {
  const unsigned warp = block.thread.x / 32 * 32;
  block.lanes[block.thread.x] = value;
  meet_warp();
  const float received = block.lanes[warp + source % 32];
  meet_warp();
  return received;
}

// Runs kernel() for every thread of every block; false when the threads wait for each other for
// ever. `reversed` runs the threads of a block from the last to the first.
template <typename Kernel>
bool run(Index grid, unsigned threads, bool reversed, Kernel kernel) {
  static context::pooled_fixedsize_stack stacks(64 * 1024);
  block = Block{};
  block.grid = grid;
  for (unsigned number = 0; number < grid.x; ++number) {
    std::memset(__start_lockstep_shared, 0xff, __stop_lockstep_shared - __start_lockstep_shared);
    block.block.x = number;
    block.all = {static_cast<int>(threads)};
    block.warps.assign(threads / 32, {32});
    block.lanes.assign(threads, 0.0f);
    std::vector<context::fiber> fibers;
    for (unsigned thread = 0; thread < threads; ++thread) {
      fibers.emplace_back(std::allocator_arg, stacks,
                          [thread, &kernel](context::fiber&& scheduler) {
                            block.scheduler = std::move(scheduler);
                            block.thread.x = thread;
                            kernel();
                            block.progress = true;
                            return std::move(block.scheduler);
                          });
    }
    for (unsigned alive = threads; alive > 0;) {
      block.progress = false;
      for (unsigned turn = 0; turn < threads; ++turn) {
        context::fiber& fiber = fibers[reversed ? threads - 1 - turn : turn];
        if (!fiber) continue;
        fiber = std::move(fiber).resume();
        if (!fiber) --alive;
      }
      if (!block.progress) return false;
    }
  }
  return true;
}

}  // namespace lockstep

#define threadIdx lockstep::block.thread
#define blockIdx lockstep::block.block
#define gridDim lockstep::block.grid
