#include "device/emulator/cluster_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/emulator/memory_access.h"
#include "device/emulator/scheduler.h"

namespace ffpa_jit::emulator {
namespace {

// Threads that have left count as arrived.
void complete_if_all_came(Cluster& cluster) {
  ClusterBarrier& barrier = cluster.barrier;
  if (barrier.arrived == 0 || barrier.arrived < cluster.live_threads) return;
  barrier.released.swap(barrier.gathered);
  std::fill(barrier.gathered.begin(), barrier.gathered.end(), uint16_t{0});
  barrier.arrived = 0;
  ++barrier.phase;
  ++cluster.progress;
  for (Fiber* fiber : barrier.waiting) make_ready(*fiber);
  barrier.waiting.clear();
}

void learn(Fiber& fiber) {
  fiber.arrived_at_cluster = false;
  Cluster& cluster = *fiber.cluster;
  if (!cluster.launch->detect_races) return;
  cluster.clocks.join(cluster.clocks.of(fiber.warp->index), cluster.barrier.released.data());
  advance_clock(*fiber.warp);
}

}  // namespace

void cluster_arrive(FfpaEmuThread* self, const void* place) {
  Fiber& fiber = fiber_of(self);
  Cluster& cluster = *fiber.cluster;
  ClusterBarrier& barrier = cluster.barrier;
  if (fiber.arrived_at_cluster)
    fail(fiber, place,
         "barrier.cluster.arrive a second time, with no barrier.cluster.wait between");
  fiber.arrived_at_cluster = true;
  if (cluster.launch->detect_races) {
    barrier.gathered.resize(cluster.clocks.row(), 0);
    barrier.released.resize(cluster.clocks.row(), 0);
    cluster.clocks.join(barrier.gathered.data(), cluster.clocks.of(fiber.warp->index));
    advance_clock(*fiber.warp);
  }
  fiber.cluster_phase = barrier.phase;
  ++barrier.arrived;
  complete_if_all_came(cluster);
}

void cluster_wait(FfpaEmuThread* self, const void* place) {
  Fiber& fiber = fiber_of(self);
  ClusterBarrier& barrier = fiber.cluster->barrier;
  if (!fiber.arrived_at_cluster)
    fail(fiber, place, "barrier.cluster.wait with no barrier.cluster.arrive before");
  // Nobody passes the next phase before this thread has arrived for it.
  if (barrier.phase == fiber.cluster_phase) {
    barrier.waiting.push_back(&fiber);
    park(fiber, Op::kClusterWait, place);
  }
  learn(fiber);
}

unsigned map_shared(FfpaEmuThread* self, const void* place, unsigned address, unsigned rank) {
  Fiber& fiber = fiber_of(self);
  const size_t blocks = fiber.cluster->blocks.size();
  if (rank >= blocks)
    fail(fiber, place, fmt::format("mapa to rank {}; the cluster has {} blocks", rank, blocks));
  return (address & ((1u << kRankShift) - 1)) | rank << kRankShift;
}

Block& block_of_rank(Fiber& fiber, const void* place, const char* what, unsigned rank) {
  Cluster& cluster = *fiber.cluster;
  if (rank >= cluster.blocks.size()) {
    fail(fiber, place,
         fmt::format("out of bounds: {} in the block of rank {}; the cluster has {} blocks", what,
                     rank, cluster.blocks.size()));
  }
  Block& block = cluster.blocks[rank];
  if (block.live_threads == 0) {
    fail(fiber, place,
         fmt::format(
             "ended block: {} in the shared memory of the block of rank {}, all of whose threads "
             "have finished; a barrier.cluster before they do is missing",
             what, rank));
  }
  if (&block == fiber.block || !cluster.launch->detect_races) return block;
  const uint16_t* known = cluster.clocks.of(fiber.warp->index) + block.first_warp;
  if (std::all_of(known, known + block.num_warps, [](uint16_t clock) { return clock == 0; })) {
    fail(fiber, place,
         fmt::format("block not begun: {} in the shared memory of the block of rank {}, with no "
                     "barrier.cluster before, so that it may not have begun",
                     what, rank));
  }
  return block;
}

Block& block_of_address(Fiber& fiber, const void* place, const char* what, uint32_t address) {
  return block_of_rank(fiber, place, what, address >> kRankShift);
}

namespace {

void access_in(Block& block, Fiber& fiber, const void* place, uint32_t offset, uint32_t bytes,
               bool writes) {
  if (!fiber.cluster->launch->detect_races) return;
  const Accessor who = accessor_of(fiber, place);
  const Finding finding =
      writes ? block.shadow->write(offset, bytes, who) : block.shadow->read(offset, bytes, who);
  if (finding.hazard != Hazard::kNone)
    fail_shared(fiber, place, writes ? "cluster write" : "cluster read", bytes, finding);
}

}  // namespace

void* cluster_memory(FfpaEmuThread* self, const void* place, unsigned address, unsigned bytes,
                     unsigned writes) {
  Fiber& fiber = fiber_of(self);
  const char* what = writes ? "st.shared::cluster" : "ld.shared::cluster";
  Block& block = block_of_address(fiber, place, what, address);
  const uint32_t offset = shared_offset(block, address);
  check_shared(fiber, place, what, offset, bytes, bytes);
  access_in(block, fiber, place, offset, bytes, writes != 0);
  return block.shared + offset;
}

bool access_cluster(Fiber& fiber, const void* place, uintptr_t address, uint64_t bytes,
                    unsigned alignment, bool writes) {
  for (Block& other : fiber.cluster->blocks) {
    const uint64_t offset = address - reinterpret_cast<uintptr_t>(other.shared);
    if (offset >= kSharedBytes) continue;
    const char* what = writes ? "write" : "read";
    Block& block = block_of_rank(fiber, place, what, other.rank);
    check_shared(fiber, place, what, offset, bytes, alignment);
    access_in(block, fiber, place, static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes),
              writes);
    return true;
  }
  return false;
}

void thread_left_cluster(Fiber& fiber) {
  ClusterBarrier& barrier = fiber.cluster->barrier;
  if (fiber.arrived_at_cluster && fiber.cluster_phase == barrier.phase) --barrier.arrived;
  complete_if_all_came(*fiber.cluster);
}

}  // namespace ffpa_jit::emulator
