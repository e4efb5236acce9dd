#include "device/emulator/async_actors.h"

#include <fmt/format.h>

#include "device/emulator/scheduler.h"

namespace ffpa_jit::emulator {
namespace {

// Rows grow by this many actors, so that few growths do.
constexpr unsigned kGrowth = 16;

void widen(Cluster& cluster, unsigned actors) {
  Clocks& clocks = cluster.clocks;
  clocks.widen(actors);
  for (Block& block : cluster.blocks) {
    for (NamedBarrier& barrier : block.barriers) clocks.widen_row(barrier.clock);
    for (Mbarrier& barrier : block.mbarriers) {
      clocks.widen_row(barrier.gathered);
      clocks.widen_row(barrier.released);
    }
    block.shadow->widen(clocks.stride());
  }
  clocks.widen_row(cluster.barrier.gathered);
  clocks.widen_row(cluster.barrier.released);
}

}  // namespace

unsigned make_actor(Fiber& fiber, const void* place, AsyncActor::Kind kind, const Block& block,
                    unsigned which) {
  Cluster& cluster = *fiber.cluster;
  const auto actor = static_cast<unsigned>(cluster.warps.size() + cluster.async_actors.size());
  if (actor >= Clocks::kMaxActors) {
    fail(
        fiber, place,
        fmt::format("a cluster of {} warps and {} mbarriers, warps and warpgroups with work in the "
                    "background is more than races are looked for in, {} in all; set "
                    "FFPA_JIT_EMULATOR_RACES=0",
                    cluster.warps.size(), cluster.async_actors.size(), Clocks::kMaxActors));
  }
  if (actor >= cluster.clocks.stride()) widen(cluster, actor + kGrowth);
  cluster.async_actors.push_back({kind, &block, which});
  if (kind == AsyncActor::kStoreAsync)
    cluster.generic_actors[actor / 64] |= uint64_t{1} << (actor % 64);
  return actor;
}

std::string name_of_actor(const Cluster& cluster, uint32_t tag) {
  const unsigned actor = Tag::actor(tag);
  const auto in_block = [&](const Block& block) {
    return cluster.blocks.size() == 1 ? std::string()
                                      : fmt::format(" of block rank {}", block.rank);
  };
  if (actor < cluster.warps.size()) {
    const Block& block = *cluster.warps[actor].block;
    return fmt::format("warp {} lane {}{}", actor - block.first_warp, Tag::lane(tag),
                       in_block(block));
  }
  const AsyncActor& async = cluster.async_actors[actor - cluster.warps.size()];
  switch (async.kind) {
    case AsyncActor::kBulkLoad:
      return fmt::format("the bulk copy counted at the mbarrier at offset {}{}, phase {}",
                         async.which, in_block(*async.block), Tag::clock(tag) - 1);
    case AsyncActor::kStoreAsync:
      return fmt::format("a st.async counted at the mbarrier at offset {}{}, phase {}", async.which,
                         in_block(*async.block), Tag::clock(tag) - 1);
    case AsyncActor::kBulkStore:
      return fmt::format("a bulk store of warp {}{}", async.which, in_block(*async.block));
    case AsyncActor::kWgmma:
      return fmt::format("a wgmma of warpgroup {}{}", async.which, in_block(*async.block));
  }
  return "?";
}

AsyncAccessor async_accessor(const Fiber& fiber, const void* place, unsigned actor, uint16_t clock,
                             bool generic) {
  const Cluster& cluster = *fiber.cluster;
  const Warp& warp = *fiber.warp;
  AsyncAccessor who;
  who.tag = Tag::make(actor, 0, clock);
  who.clock = cluster.clocks.of(warp.index);
  who.place = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(place));
  who.issuer = warp.tag | fiber.thread->lane << Tag::kLaneShift;
  who.fenced = generic ? nullptr : cluster.clocks.fenced(warp.index);
  who.generic_actors = cluster.generic_actors.data();
  return who;
}

}  // namespace ffpa_jit::emulator
