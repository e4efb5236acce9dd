#include "device/emulator/barriers.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/emulator/scheduler.h"
#include "device/emulator/warp_exchange.h"

namespace ffpa_jit::emulator {
namespace {

unsigned expected(const Block& block, const NamedBarrier& barrier) {
  return barrier.count ? barrier.count : block.live_threads;
}

// Clocks past this make a full barrier start them again, so that a long kernel does not use them
// up.
constexpr uint16_t kHighClock = 0xc000;

void restart_clocks(Block& block) {
  Cluster& cluster = *block.cluster;
  block.shadow->order_all(kSharedBytes);
  cluster.clocks.reset(static_cast<unsigned>(cluster.warps.size()), cluster.clocks.stride());
  for (Warp& warp : cluster.warps) warp.tag = Tag::make(warp.index, 0, 1);
}

// Everybody who came knows what everybody who came has done.
void pass_clocks_on(Block& block, NamedBarrier& barrier) {
  Cluster& cluster = *block.cluster;
  bool high = false;
  uint64_t waiting = 0;
  for (const Fiber* fiber : barrier.waiting) waiting |= uint64_t{1} << fiber->thread->warp;
  for (unsigned w = 0; w < block.num_warps; ++w) {
    if (!(waiting >> w & 1)) continue;
    Warp& warp = cluster.warps[block.first_warp + w];
    cluster.clocks.join(cluster.clocks.of(warp.index), barrier.clock.data());
    advance_clock(warp);
    high |= Tag::clock(warp.tag) > kHighClock;
  }
  const bool everybody = barrier.waiting.size() == block.live_threads &&
                         cluster.blocks.size() == 1 && cluster.async_actors.empty() &&
                         block.num_mbarriers == 0;
  if (high && everybody) restart_clocks(block);
}

void release(Block& block, NamedBarrier& barrier, Fiber* running) {
  if (block.cluster->launch->detect_races) pass_clocks_on(block, barrier);
  for (Fiber* fiber : barrier.waiting) {
    fiber->result = barrier.accumulator;
    if (fiber != running) make_ready(*fiber);
  }
  barrier.waiting.clear();
  barrier.arrived = 0;
  barrier.warps = 0;
}

NamedBarrier& arrive(Fiber& fiber, const void* place, Op op, unsigned id, unsigned count) {
  Block& block = *fiber.block;
  const FfpaEmuThread& thread = *fiber.thread;
  const unsigned threads = thread.block_dim.x * thread.block_dim.y * thread.block_dim.z;
  if (id >= kNamedBarriers)
    fail(fiber, place,
         fmt::format("{} of barrier {}; a block has barriers 0 to 15", name_of(op), id));
  if (count % kWarpSize != 0 || count > (threads + kWarpSize - 1) / kWarpSize * kWarpSize ||
      (op == Op::kBarArrive && count == 0)) {
    fail(fiber, place,
         fmt::format(
             "{} {} for {} threads; the count is a multiple of 32 up to the block's {} threads",
             name_of(op), id, count, threads));
  }
  NamedBarrier& barrier = block.barriers[id];
  if (barrier.arrived == 0) {
    barrier.count = count;
    barrier.op = op;
    barrier.accumulator = 0;
    barrier.clock.assign(fiber.cluster->clocks.row(), 0);
  }
  if (barrier.count != count) {
    fail(fiber, place,
         fmt::format("{} {} for {} threads, where others came for {}", name_of(op), id, count,
                     barrier.count));
  }
  // Counted warps may meet from different places; lanes of one warp may not (.aligned).
  const uint64_t warp_bit = uint64_t{1} << thread.warp;
  if (!(barrier.warps & warp_bit)) {
    barrier.warps |= warp_bit;
    barrier.places[thread.warp] = place;
  } else if (barrier.places[thread.warp] != place) {
    Failure failure;
    failure.what =
        fmt::format("divergent {} {}: lanes of one warp are at different barriers of the program",
                    name_of(op), id);
    failure.place = place;
    failure.other_place =
        static_cast<uint32_t>(reinterpret_cast<uintptr_t>(barrier.places[thread.warp]));
    failure.other = "another lane";
    fail(fiber, std::move(failure));
  }
  ++barrier.arrived;
  if (fiber.cluster->launch->detect_races) {
    fiber.cluster->clocks.join(barrier.clock.data(), fiber.cluster->clocks.of(fiber.warp->index));
  }
  return barrier;
}

void wait(Fiber& fiber, const void* place, Op op, unsigned id, NamedBarrier& barrier) {
  barrier.waiting.push_back(&fiber);
  if (barrier.arrived < expected(*fiber.block, barrier)) {
    park(fiber, op, place, id);
  } else {
    release(*fiber.block, barrier, &fiber);
  }
}

}  // namespace

void bar_sync(FfpaEmuThread* self, const void* place, unsigned id, unsigned count) {
  Fiber& fiber = fiber_of(self);
  wait(fiber, place, Op::kBarSync, id, arrive(fiber, place, Op::kBarSync, id, count));
}

void bar_arrive(FfpaEmuThread* self, const void* place, unsigned id, unsigned count) {
  Fiber& fiber = fiber_of(self);
  NamedBarrier& barrier = arrive(fiber, place, Op::kBarArrive, id, count);
  // What this warp does from now on is not ordered before the barrier.
  if (fiber.cluster->launch->detect_races) advance_clock(*fiber.warp);
  if (barrier.arrived >= expected(*fiber.block, barrier)) release(*fiber.block, barrier, nullptr);
}

unsigned bar_red(FfpaEmuThread* self, const void* place, FfpaEmuReduce reduce, unsigned id,
                 unsigned count, unsigned predicate) {
  Fiber& fiber = fiber_of(self);
  NamedBarrier& barrier = arrive(fiber, place, Op::kBarRed, id, count);
  const bool holds = predicate != 0;
  if (barrier.arrived == 1) {
    barrier.reduce = reduce;
    barrier.accumulator = reduce == kFfpaEmuReduceAnd;
  } else if (barrier.reduce != reduce || barrier.op != Op::kBarRed) {
    fail(fiber, place, fmt::format("bar.red {} meets another kind of barrier", id));
  }
  switch (reduce) {
    case kFfpaEmuReducePopc:
      barrier.accumulator += holds;
      break;
    case kFfpaEmuReduceAnd:
      barrier.accumulator &= holds;
      break;
    case kFfpaEmuReduceOr:
      barrier.accumulator |= holds;
      break;
  }
  wait(fiber, place, Op::kBarRed, id, barrier);
  return fiber.result;
}

void thread_finished(Fiber& fiber) {
  Block& block = *fiber.block;
  for (NamedBarrier& barrier : block.barriers) {
    if (barrier.arrived > 0 && barrier.count == 0 && barrier.arrived >= block.live_threads)
      release(block, barrier, nullptr);
  }
  lane_finished(*fiber.warp);
}

}  // namespace ffpa_jit::emulator
