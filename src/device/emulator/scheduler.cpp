#include "device/emulator/scheduler.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "device/emulator/barriers.h"
#include "device/emulator/bulk_copy.h"
#include "device/emulator/cluster_memory.h"
#include "device/emulator/mbarrier.h"
#include "device/emulator/sanitizer_fibers.h"
#include "device/emulator/warpgroup_multiply.h"

namespace ffpa_jit::emulator {
namespace {

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

// One step of a linear congruential generator (Knuth, MMIX); the high bits are the good ones.
uint32_t draw(Cluster& cluster, uint32_t below) {
  cluster.random = cluster.random * 6364136223846793005u + 1442695040888963407u;
  return static_cast<uint32_t>((cluster.random >> 33) % below);
}

unsigned nth_bit(uint32_t bits, unsigned n) {
  for (; n > 0; --n) bits &= bits - 1;
  return std::countr_zero(bits);
}

// The next warp with a ready lane after `from`, itself last; SIZE_MAX: none.
size_t next_warp(const Cluster& cluster, unsigned from) {
  const size_t words = cluster.ready_warps.size();
  const size_t first = from / 64;
  for (size_t i = 0; i <= words; ++i) {
    const size_t word = (first + i) % words;
    uint64_t bits = cluster.ready_warps[word];
    if (i == 0) bits &= from % 64 == 63 ? 0 : ~uint64_t{0} << (from % 64 + 1);
    if (bits) return word * 64 + std::countr_zero(bits);
  }
  return SIZE_MAX;
}

Fiber& take(Cluster& cluster, Warp& warp, unsigned lane) {
  warp.ready &= ~(1u << lane);
  if (warp.ready == 0) cluster.ready_warps[warp.index / 64] &= ~(uint64_t{1} << (warp.index % 64));
  cluster.last_warp = warp.index;
  return warp.fibers[lane];
}

std::string lanes_text(uint32_t lanes) {
  if (lanes == 0xffffffffu) return "";
  std::string text = " lanes ";
  for (bool first = true; lanes; first = false) {
    const int begin = std::countr_zero(lanes);
    const int length = std::countr_one(lanes >> begin);
    text += fmt::format("{}{}", first ? "" : ",", begin);
    if (length > 1) text += fmt::format("-{}", begin + length - 1);
    lanes &= length == 32 ? 0 : ~(((1u << length) - 1) << begin);
  }
  return text;
}

std::string waited_for(const Cluster& cluster, unsigned rank, Op op, unsigned detail) {
  const Block& block = cluster.blocks[rank];
  switch (op) {
    case Op::kBarSync:
    case Op::kBarRed: {
      const NamedBarrier& barrier = block.barriers[detail];
      return fmt::format("{} {} ({} of {} threads have come)", name_of(op), detail, barrier.arrived,
                         barrier.count ? barrier.count : block.live_threads);
    }
    case Op::kMbarrierWait:
      return waiting_text(block, detail & ~1u, detail & 1);
    case Op::kClusterWait:
      return fmt::format("{} ({} of {} threads have come)", name_of(op), cluster.barrier.arrived,
                         cluster.live_threads);
    default:
      return name_of(op);
  }
}

// Who waits where: threads that do the same at the same place together. Places are looked up by
// whoever prints this.
void describe_deadlock(Cluster& cluster) {
  struct Group {
    unsigned threads = 0;
    std::map<unsigned, uint32_t> lanes;  // by warp
  };
  std::map<std::tuple<unsigned, Op, unsigned, const void*>, Group> groups;
  unsigned finished = 0;
  for (const Fiber& fiber : cluster.fibers) {
    if (fiber.finished) {
      ++finished;
      continue;
    }
    Group& group = groups[{fiber.block->rank, fiber.wait.op, fiber.wait.detail, fiber.wait.place}];
    ++group.threads;
    group.lanes[fiber.warp->index - fiber.block->first_warp] |= 1u << fiber.thread->lane;
  }
  Failure& failure = cluster.failure;
  failure.what = "deadlock:";
  for (const auto& [key, group] : groups) {
    const auto& [rank, op, detail, place] = key;
    std::string name = waited_for(cluster, rank, op, detail);
    if (cluster.blocks.size() > 1) name += fmt::format(" in the block of rank {}", rank);
    std::string warps;
    for (const auto& [warp, lanes] : group.lanes)
      warps += fmt::format("{}warp {}{}", warps.empty() ? "" : ", ", warp, lanes_text(lanes));
    failure.what += fmt::format(" {} threads wait at {} at {{{}}}: {};", group.threads, name,
                                fmt::ptr(place), warps);
  }
  failure.what += fmt::format(" {} threads have finished", finished);
  failure.block = cluster.blocks[0].index;
  cluster.failed = true;
}

// A copy in the background lands, or threads that only poll are let go. False: nothing of the kind
// is left to do. What goes wrong there is Cluster::failure.
bool move_on(Cluster& cluster) {
  if (!cluster.loads.empty()) {
    const bool shuffles = cluster.launch->schedule.order == Order::kShuffle;
    land(cluster, shuffles ? draw(cluster, static_cast<uint32_t>(cluster.loads.size())) : 0);
    return true;
  }
  bool any = false;
  const auto let_go = [&](Fiber* fiber) {
    if (fiber->polled_at == cluster.progress) return false;
    fiber->polled_at = cluster.progress;
    stop_polling(*fiber);
    return any = true;
  };
  std::erase_if(cluster.pollers, let_go);
  return any;
}

Fiber* next_ready(Cluster& cluster) {
  if (cluster.launch->schedule.order == Order::kShuffle) {
    unsigned ready = 0;
    for (uint64_t bits : cluster.ready_warps) ready += std::popcount(bits);
    if (ready > 0) {
      size_t index = next_warp(cluster, draw(cluster, static_cast<uint32_t>(cluster.warps.size())));
      Warp& warp = cluster.warps[index];
      return &take(cluster, warp, nth_bit(warp.ready, draw(cluster, std::popcount(warp.ready))));
    }
  } else {
    Warp& last = cluster.warps[cluster.last_warp];
    if (last.ready) return &take(cluster, last, std::countr_zero(last.ready));
    const size_t index = next_warp(cluster, cluster.last_warp);
    if (index != SIZE_MAX) {
      Warp& warp = cluster.warps[index];
      return &take(cluster, warp, std::countr_zero(warp.ready));
    }
  }
  return nullptr;
}

Fiber& next(Cluster& cluster) {
  // Now and then a copy lands between two steps of the threads.
  constexpr uint32_t kSteps = 8;
  if (!cluster.loads.empty() && cluster.launch->schedule.order == Order::kShuffle &&
      draw(cluster, kSteps) == 0)
    move_on(cluster);
  while (!cluster.failed) {
    if (Fiber* ready = next_ready(cluster)) return *ready;
    if (move_on(cluster)) continue;
    if (cluster.live_threads > 0)
      describe_deadlock(cluster);
    else
      all_copies_waited_for(cluster);
    break;
  }
  return cluster.main;
}

void switch_to(Cluster& cluster, Fiber& to) {
  Fiber* from = cluster.current;
  if (from == &to) return;
  cluster.current = &to;
  begin_switch(*from, to);
  const transfer_t back = jump_fcontext(to.context, from);
  end_switch(*from, static_cast<Fiber*>(back.data));
  static_cast<Fiber*>(back.data)->context = back.fctx;
}

void finish(Fiber& fiber) {
  Warp& warp = *fiber.warp;
  check_stores_over(fiber);
  check_multiplies_over(fiber);
  fiber.finished = true;
  warp.live &= ~(1u << fiber.thread->lane);
  --fiber.block->live_threads;
  --fiber.cluster->live_threads;
  ++fiber.cluster->progress;
  thread_finished(fiber);
  if (fiber.cluster->blocks.size() > 1) thread_left_cluster(fiber);
}

// What a fiber runs: the kernel, once.
void fiber_main(transfer_t from) {
  auto* before = static_cast<Fiber*>(from.data);
  before->context = from.fctx;
  Cluster& cluster = *before->cluster;
  Fiber& self = *cluster.current;
  end_switch(self, before);
  cluster.launch->run(cluster.launch->params);
  finish(self);
  switch_to(cluster, next(cluster));
  __builtin_unreachable();
}

}  // namespace

const char* name_of(Op op) {
  switch (op) {
    case Op::kNone:
      return "nothing";
    case Op::kBarSync:
      return "bar.sync";
    case Op::kBarArrive:
      return "bar.arrive";
    case Op::kBarRed:
      return "bar.red";
    case Op::kBarWarpSync:
      return "bar.warp.sync";
    case Op::kShuffle:
      return "shfl.sync";
    case Op::kVote:
      return "vote.sync";
    case Op::kElect:
      return "elect.sync";
    case Op::kMma:
      return "mma.sync";
    case Op::kLdmatrix:
      return "ldmatrix";
    case Op::kStmatrix:
      return "stmatrix";
    case Op::kMbarrierInit:
      return "mbarrier.init";
    case Op::kMbarrierArrive:
      return "mbarrier.arrive";
    case Op::kMbarrierWait:
      return "mbarrier.try_wait";
    case Op::kBulkCopy:
      return "cp.async.bulk";
    case Op::kStoreAsync:
      return "st.async";
    case Op::kClusterWait:
      return "barrier.cluster.wait";
    case Op::kWgmma:
      return "wgmma";
    case Op::kWgmmaWait:
      return "wgmma.wait_group";
    case Op::kSetmaxnreg:
      return "setmaxnreg";
  }
  return "?";
}

void park(Fiber& fiber, Op op, const void* place, unsigned detail) {
  fiber.wait = {op, detail, place};
  switch_to(*fiber.cluster, next(*fiber.cluster));
}

void blame(Cluster& cluster, const Fiber& fiber) {
  cluster.failure.block = fiber.block->index;
  cluster.failure.warp = static_cast<int>(fiber.thread->warp);
  cluster.failure.lane = static_cast<int>(fiber.thread->lane);
  cluster.failure.thread = static_cast<int>(fiber.thread->warp * kWarpSize + fiber.thread->lane);
  cluster.failed = true;
}

void leave_failed(Cluster& cluster) {
  switch_to(cluster, cluster.main);
  __builtin_unreachable();
}

void fail(Fiber& fiber, Failure&& failure) {
  Cluster& cluster = *fiber.cluster;
  cluster.failure = std::move(failure);
  blame(cluster, fiber);
  leave_failed(cluster);
}

void fail(Fiber& fiber, const void* place, std::string&& what) {
  Failure failure;
  failure.what = std::move(what);
  failure.place = place;
  fail(fiber, std::move(failure));
}

void advance_clock(Warp& warp) {
  uint16_t& clock = warp.block->cluster->clocks.of(warp.index)[warp.index];
  if (clock < Clocks::kLast) ++clock;
  warp.tag = Tag::make(warp.index, 0, clock);
}

void run_cluster(Cluster& cluster) {
  cluster.main.cluster = &cluster;
  cluster.current = &cluster.main;
  for (size_t i = 0; i < cluster.fibers.size(); ++i) {
    Fiber& fiber = cluster.fibers[i];
    // Stacks lie a power of two apart: without this the lanes' frames would fall into the same
    // cache sets.
    prepare_stack(fiber);
    auto* top = reinterpret_cast<unsigned char*>(fiber.thread) - i % kWarpSize * 192;
    fiber.context = make_fcontext(top, kFfpaEmuStackBytes / 2, fiber_main);
  }
  prepare_main(cluster.main);
  switch_to(cluster, next(cluster));
}

}  // namespace ffpa_jit::emulator
