#include "device/emulator/bulk_copy.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "device/emulator/async_actors.h"
#include "device/emulator/cluster_memory.h"
#include "device/emulator/mbarrier.h"
#include "device/emulator/memory_access.h"
#include "device/emulator/scheduler.h"

namespace ffpa_jit::emulator {
namespace {

constexpr const char* kName = "cp.async.bulk";

// Ends the launch with a text that was made elsewhere; `text` is given away first.
[[noreturn]] void fail_with(Fiber& fiber, const void* place, std::string& text) {
  Failure failure;
  failure.place = place;
  failure.what.swap(text);
  fail(fiber, std::move(failure));
}

void check_global(Fiber& fiber, const void* place, const TensorCopy& copy, bool writes) {
  uintptr_t begin = 0;
  uint64_t bytes = 0;
  const MemoryRanges& ranges = *fiber.cluster->launch->ranges;
  if (!copy.global_range(begin, bytes) ||
      ranges.find(begin, bytes, writes, fiber.block->range_hint[writes]))
    return;
  Failure failure;
  failure.place = place;
  failure.what = fmt::format("out of bounds: bulk copy {} {} bytes of global memory {}",
                             writes ? "to" : "from", bytes, ranges.describe(begin, bytes, writes));
  fail(fiber, std::move(failure));
}

// The mbarrier may be used by the asynchronous proxy.
void check_fenced(Fiber& fiber, const void* place, const Mbarrier& barrier) {
  if (barrier.fenced || !fiber.cluster->launch->detect_races) return;
  const unsigned actor = Tag::actor(barrier.init_tag);
  if (Tag::clock(barrier.init_tag) <= fiber.cluster->clocks.fenced(fiber.warp->index)[actor])
    return;
  Failure failure;
  failure.place = place;
  failure.shared_offset = barrier.offset;
  failure.what = fmt::format(
      "missing proxy fence: a bulk copy is counted at the mbarrier at shared memory offset {}, "
      "with no "
      "fence.mbarrier_init after its initialisation",
      barrier.offset);
  failure.other = fmt::format("initialised by {}", name_of_actor(*fiber.cluster, barrier.init_tag));
  failure.other_place = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(barrier.init_place));
  fail(fiber, std::move(failure));
}

// In one block of those it goes to: its mbarrier and memory are looked at when the copy begins.
void begin_in(Fiber& fiber, PendingLoad& load, Block& block, Op op) {
  Mbarrier& barrier = mbarrier_at(fiber, load.place, op, block, load.barrier);
  if (!load.generic) check_fenced(fiber, load.place, barrier);
  load.phases[block.rank] = barrier.phase;
  barrier.last_copy_phase = barrier.phase;
  barrier.last_copy_place = load.place;
  barrier.last_copier = &fiber;
  check_shared(fiber, load.place, name_of(op), load.to, load.copy.extent(), 1);
  if (!fiber.cluster->launch->detect_races) return;
  unsigned& actor = load.generic ? barrier.store_actor : barrier.copy_actor;
  if (!actor) {
    actor = make_actor(fiber, load.place,
                       load.generic ? AsyncActor::kStoreAsync : AsyncActor::kBulkLoad, block,
                       barrier.offset);
  }
  const AsyncAccessor who =
      async_accessor(fiber, load.place, actor, clock_of_phase(barrier.phase + 1), load.generic);
  const Finding finding = block.shadow->begin_async_write(load.to, load.copy.extent(), who);
  if (finding.hazard != Hazard::kNone)
    fail_shared(fiber, load.place, name_of(op), load.copy.extent(), finding);
}

void begin(Fiber& fiber, PendingLoad load, Op op) {
  Cluster& cluster = *fiber.cluster;
  for (uint32_t blocks = load.blocks; blocks; blocks &= blocks - 1) {
    const auto rank = static_cast<unsigned>(std::countr_zero(blocks));
    begin_in(fiber, load, block_of_rank(fiber, load.place, name_of(op), rank), op);
  }
  cluster.loads.push_back(load);
  if (cluster.launch->schedule.order == Order::kEarly && !land(cluster, cluster.loads.size() - 1))
    leave_failed(cluster);
}

PendingLoad load_to(Fiber& fiber, const void* place, unsigned to, unsigned barrier, Op op) {
  PendingLoad load;
  load.issuer = &fiber;
  load.place = place;
  const Block& block = block_of_address(fiber, place, name_of(op), to);
  if (to >> kRankShift != barrier >> kRankShift) {
    fail(fiber, place,
         fmt::format(
             "{} to the block of rank {}, counted at an mbarrier of rank {}; allowed: of the same "
             "block",
             name_of(op), to >> kRankShift, barrier >> kRankShift));
  }
  load.blocks = 1u << block.rank;
  load.to = shared_offset(block, to);
  load.barrier = shared_offset(block, barrier);
  return load;
}

// That shared memory is read from now on, until the thread has waited.
void begin_store(Fiber& fiber, const void* place, TensorCopy& copy, uint32_t from) {
  Cluster& cluster = *fiber.cluster;
  Warp& warp = *fiber.warp;
  check_shared(fiber, place, kName, from, copy.extent(), 1);
  check_global(fiber, place, copy, true);
  ++warp.stores;
  if (cluster.launch->detect_races) {
    if (!warp.store_actor)
      warp.store_actor =
          make_actor(fiber, place, AsyncActor::kBulkStore, *fiber.block, fiber.thread->warp);
    const Finding finding = fiber.block->shadow->async_read(
        from, copy.extent(), async_accessor(fiber, place, warp.store_actor, warp.stores));
    if (finding.hazard != Hazard::kNone) fail_shared(fiber, place, kName, copy.extent(), finding);
  }
  if (cluster.launch->schedule.order == Order::kEarly) copy.store(fiber.block->shared, from);
  fiber.stores.push_back({copy, from, warp.stores, place});
}

void check_multiple(Fiber& fiber, const void* place, const char* what, uint64_t value,
                    unsigned multiple) {
  if (value % multiple == 0) return;
  fail(fiber, place,
       fmt::format("misaligned: {} with {} {:#x}, which is not a multiple of {}", kName, what,
                   value, multiple));
}

constexpr unsigned kTensorAlignment = 128, kBulkAlignment = 16;

// What the manual does not say and the H200 does not do (an illegal instruction).
void check_first_coordinate(Fiber& fiber, const void* place, const TensorCopy& copy) {
  if (copy.at[0] * copy.strides[0] % kBulkAlignment == 0) return;
  fail(
      fiber, place,
      fmt::format(
          "misaligned: {} of a box whose innermost coordinate is {}, {} bytes into a row; allowed: "
          "multiples of {} bytes",
          kName, copy.at[0], copy.at[0] * copy.strides[0], kBulkAlignment));
}

}  // namespace

void tensor_load(FfpaEmuThread* self, const void* place, unsigned to, const FfpaEmuTensorBox* box,
                 unsigned barrier, unsigned blocks) {
  Fiber& fiber = fiber_of(self);
  PendingLoad load = load_to(fiber, place, to, barrier, Op::kBulkCopy);
  if (std::string wrong = decode(box->map, box->rank, box->at, load.copy); !wrong.empty())
    fail_with(fiber, place, wrong);
  check_multiple(fiber, place, "the shared memory offset", load.to, kTensorAlignment);
  check_first_coordinate(fiber, place, load.copy);
  check_global(fiber, place, load.copy, false);
  if (blocks) load.blocks = blocks;
  begin(fiber, load, Op::kBulkCopy);
}

void bulk_load(FfpaEmuThread* self, const void* place, unsigned to, const void* from,
               unsigned bytes, unsigned barrier) {
  Fiber& fiber = fiber_of(self);
  PendingLoad load = load_to(fiber, place, to, barrier, Op::kBulkCopy);
  load.copy = plain_copy(from, bytes);
  check_multiple(fiber, place, "a size of", bytes, kBulkAlignment);
  check_multiple(fiber, place, "the shared memory offset", load.to, kBulkAlignment);
  check_multiple(fiber, place, "the global address", reinterpret_cast<uintptr_t>(from),
                 kBulkAlignment);
  check_global(fiber, place, load.copy, false);
  if (bytes) begin(fiber, load, Op::kBulkCopy);
}

// From this block's shared memory to that of another, which is read until the mbarrier's phase is
// over.
void bulk_send(FfpaEmuThread* self, const void* place, unsigned to, unsigned from, unsigned bytes,
               unsigned barrier) {
  Fiber& fiber = fiber_of(self);
  PendingLoad load = load_to(fiber, place, to, barrier, Op::kBulkCopy);
  load.copy = plain_copy(nullptr, bytes);
  load.source = fiber.block;
  load.source_offset = shared_offset(*fiber.block, from);
  check_multiple(fiber, place, "a size of", bytes, kBulkAlignment);
  check_multiple(fiber, place, "the shared memory offset", load.to, kBulkAlignment);
  check_multiple(fiber, place, "the source's shared memory offset", load.source_offset,
                 kBulkAlignment);
  check_shared(fiber, place, kName, load.source_offset, bytes, 1);
  if (bytes == 0) return;
  if (fiber.cluster->launch->detect_races) {
    Block& block = block_of_address(fiber, place, kName, to);
    Mbarrier& counted = mbarrier_at(fiber, place, Op::kBulkCopy, block, load.barrier);
    if (!counted.copy_actor)
      counted.copy_actor = make_actor(fiber, place, AsyncActor::kBulkLoad, block, counted.offset);
    const Finding finding = fiber.block->shadow->async_read(
        load.source_offset, bytes,
        async_accessor(fiber, place, counted.copy_actor, clock_of_phase(counted.phase + 1)));
    if (finding.hazard != Hazard::kNone) fail_shared(fiber, place, kName, bytes, finding);
  }
  begin(fiber, load, Op::kBulkCopy);
}

void store_async(FfpaEmuThread* self, const void* place, unsigned address, const void* from,
                 unsigned bytes, unsigned barrier) {
  Fiber& fiber = fiber_of(self);
  PendingLoad load = load_to(fiber, place, address, barrier, Op::kStoreAsync);
  load.generic = true;
  load.copy = plain_copy(nullptr, bytes);
  std::memcpy(load.bytes.data(), from, bytes);
  check_shared(fiber, place, name_of(Op::kStoreAsync), load.to, bytes, bytes);
  begin(fiber, load, Op::kStoreAsync);
}

void tensor_store(FfpaEmuThread* self, const void* place, const FfpaEmuTensorBox* box,
                  unsigned from, FfpaEmuTensorStore kind) {
  Fiber& fiber = fiber_of(self);
  TensorCopy copy;
  if (std::string wrong = decode(box->map, box->rank, box->at, copy); !wrong.empty())
    fail_with(fiber, place, wrong);
  copy.adds = kind == kFfpaEmuTensorAdd;
  from = shared_offset(*fiber.block, from);
  check_multiple(fiber, place, "the shared memory offset", from, kTensorAlignment);
  check_first_coordinate(fiber, place, copy);
  for (unsigned d = 0; d < copy.rank; ++d) {
    if (copy.at[d] >= 0) continue;
    // As the H200 does; loads may begin anywhere.
    fail(fiber, place,
         fmt::format("out of bounds: {} to a box that begins at coordinate {} of dimension {}; "
                     "stores may reach "
                     "past a tensor's end, and not before its beginning",
                     kName, copy.at[d], d));
  }
  begin_store(fiber, place, copy, from);
}

void bulk_store(FfpaEmuThread* self, const void* place, void* to, unsigned from, unsigned bytes) {
  Fiber& fiber = fiber_of(self);
  TensorCopy copy = plain_copy(to, bytes);
  from = shared_offset(*fiber.block, from);
  check_multiple(fiber, place, "a size of", bytes, kBulkAlignment);
  check_multiple(fiber, place, "the shared memory offset", from, kBulkAlignment);
  check_multiple(fiber, place, "the global address", reinterpret_cast<uintptr_t>(to),
                 kBulkAlignment);
  if (bytes) begin_store(fiber, place, copy, from);
}

void bulk_commit(FfpaEmuThread* self, const void*) {
  Fiber& fiber = fiber_of(self);
  fiber.store_groups.push_back(static_cast<uint32_t>(fiber.stores.size()));
}

void bulk_wait(FfpaEmuThread* self, const void*, unsigned pending_groups) {
  Fiber& fiber = fiber_of(self);
  Cluster& cluster = *fiber.cluster;
  if (fiber.store_groups.size() <= pending_groups) return;
  const size_t groups = fiber.store_groups.size() - pending_groups;
  const uint32_t end = fiber.store_groups[groups - 1];
  for (uint32_t i = 0; i < end; ++i) {
    const PendingStore& store = fiber.stores[i];
    if (cluster.launch->schedule.order != Order::kEarly)
      store.copy.store(fiber.block->shared, store.from);
    if (cluster.launch->detect_races) {
      uint16_t& known = cluster.clocks.of(fiber.warp->index)[fiber.warp->store_actor];
      known = std::max(known, store.clock);
    }
  }
  fiber.stores.erase(fiber.stores.begin(), fiber.stores.begin() + end);
  fiber.store_groups.erase(fiber.store_groups.begin(),
                           fiber.store_groups.begin() + static_cast<ptrdiff_t>(groups));
  for (uint32_t& group : fiber.store_groups) group -= end;
}

bool land(Cluster& cluster, size_t index) {
  const PendingLoad load = cluster.loads[index];
  cluster.loads.erase(cluster.loads.begin() + static_cast<ptrdiff_t>(index));
  ++cluster.progress;
  const auto refuse = [&](std::string&& what) {
    Failure& failure = cluster.failure;
    failure = {};
    failure.what = std::move(what);
    failure.place = load.place;
    blame(cluster, *load.issuer);
    return false;
  };
  for (uint32_t blocks = load.blocks; blocks; blocks &= blocks - 1) {
    Block& block = cluster.blocks[static_cast<unsigned>(std::countr_zero(blocks))];
    if (block.live_threads == 0) {
      return refuse(fmt::format(
          "ended block: {} lands in the shared memory of the block of rank {}, all of whose "
          "threads have finished: nobody has waited for it",
          load.generic ? "st.async" : "a bulk copy", block.rank));
    }
    if (load.generic) {
      std::memcpy(block.shared + load.to, load.bytes.data(), load.copy.row_bytes);
    } else if (load.source) {
      std::memcpy(block.shared + load.to, load.source->shared + load.source_offset,
                  load.copy.row_bytes);
    } else {
      load.copy.load(block.shared, load.to);
    }
    Mbarrier* barrier = nullptr;
    for (unsigned i = 0; i < block.num_mbarriers && !barrier; ++i) {
      if (block.mbarriers[i].offset == load.barrier) barrier = &block.mbarriers[i];
    }
    if (cluster.launch->detect_races) {
      const unsigned actor = load.generic ? barrier->store_actor : barrier->copy_actor;
      block.shadow->land_async_write(
          load.to, load.copy.extent(),
          Tag::make(actor, 0, clock_of_phase(load.phases[block.rank] + 1)),
          static_cast<uint32_t>(reinterpret_cast<uintptr_t>(load.place)));
    }
    std::string wrong = complete_bytes(block, *barrier, load.phases[block.rank], load.copy.bytes());
    if (!wrong.empty()) return refuse(std::move(wrong));
  }
  return true;
}

bool all_copies_waited_for(Cluster& cluster) {
  if (!cluster.launch->detect_races) return true;
  for (const Block& block : cluster.blocks) {
    for (unsigned i = 0; i < block.num_mbarriers; ++i) {
      const Mbarrier& barrier = block.mbarriers[i];
      if (!barrier.last_copier) continue;
      const uint16_t over = clock_of_phase(barrier.last_copy_phase + 1);
      const unsigned actor = barrier.copy_actor ? barrier.copy_actor : barrier.store_actor;
      bool known = false;
      for (const Warp& warp : cluster.warps) known |= cluster.clocks.of(warp.index)[actor] >= over;
      if (known) continue;
      cluster.failure = {};
      cluster.failure.what = fmt::format(
          "missing wait: the block of rank {} has ended and nobody has waited for a copy to its "
          "shared memory, counted at the mbarrier at shared memory offset {}",
          block.rank, barrier.offset);
      cluster.failure.place = barrier.last_copy_place;
      blame(cluster, *barrier.last_copier);
      return false;
    }
  }
  return true;
}

void check_stores_over(Fiber& fiber) {
  if (fiber.stores.empty()) return;
  fail(fiber, fiber.stores.front().place,
       "missing wait: a bulk store may still read shared memory when its thread leaves the kernel; "
       "cp.async.bulk.wait_group is missing");
}

}  // namespace ffpa_jit::emulator
