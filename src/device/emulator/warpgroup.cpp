#include "device/emulator/warpgroup.h"

#include <fmt/format.h>

#include "device/emulator/scheduler.h"

namespace ffpa_jit::emulator {

Warpgroup& warpgroup_of(Fiber& fiber, const void* place, Op op) {
  Block& block = *fiber.block;
  const unsigned index = fiber.thread->warp / kWarpgroup;
  const FfpaEmuIndex& threads = fiber.thread->block_dim;
  const unsigned count = threads.x * threads.y * threads.z;
  if ((index + 1) * kWarpgroupThreads > count) {
    fail(fiber, place,
         fmt::format(
             "{} by warp {} of a block of {} threads; warpgroups are 4 whole warps, the first a "
             "multiple of 4",
             name_of(op), fiber.thread->warp, count));
  }
  if (block.warpgroups.size() <= index) block.warpgroups.resize(index + 1);
  if (!block.warpgroups[index]) {
    block.warpgroups[index] = std::make_shared<Warpgroup>();
    block.warpgroups[index]->block = &block;
    block.warpgroups[index]->index = index;
  }
  return *block.warpgroups[index];
}

bool meet_warpgroup(Fiber& fiber, Warpgroup& group, const void* place, Op op, unsigned detail) {
  if (group.arrived == 0) {
    group.op = op;
    group.place = place;
    group.detail = detail;
  } else if (group.op != op || group.place != place || group.detail != detail) {
    Failure failure;
    failure.what = fmt::format(
        "divergent {}: threads of one warpgroup are at different instructions", name_of(op));
    failure.place = place;
    failure.other_place = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(group.place));
    failure.other = fmt::format("another thread, at {},", name_of(group.op));
    fail(fiber, std::move(failure));
  }
  if (++group.arrived < kWarpgroupThreads) {
    park(fiber, op, place);
    return false;
  }
  return true;
}

void go_on(Fiber& fiber, Warpgroup& group) {
  group.arrived = 0;
  Cluster& cluster = *group.block->cluster;
  for (unsigned w = 0; w < kWarpgroup; ++w) {
    Warp& warp = cluster.warps[group.block->first_warp + kWarpgroup * group.index + w];
    const uint32_t own = &warp == fiber.warp ? 1u << fiber.thread->lane : 0;
    make_ready(warp, ~own);
  }
}

}  // namespace ffpa_jit::emulator
