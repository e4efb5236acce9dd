#include "device/emulator/mbarrier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/emulator/async_actors.h"
#include "device/emulator/cluster_memory.h"
#include "device/emulator/memory_access.h"
#include "device/emulator/scheduler.h"

namespace ffpa_jit::emulator {
namespace {

constexpr uint32_t kBytes = 8;
constexpr unsigned kMaxArrivals = (1u << 20) - 1;
constexpr int64_t kMaxBytes = (1 << 20) - 1;

// In shared memory.
struct Object {
  uint32_t magic = 0x7261626d;
  uint32_t index = 0;
};

// Ends the phase if everything expected has come.
void end_phase(Block& block, Mbarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  Cluster& cluster = *block.cluster;
  ++barrier.phase;
  barrier.pending = barrier.arrivals;
  ++cluster.progress;
  if (cluster.launch->detect_races) {
    barrier.released.swap(barrier.gathered);
    std::fill(barrier.gathered.begin(), barrier.gathered.end(), uint16_t{0});
    for (const unsigned actor : {barrier.copy_actor, barrier.store_actor}) {
      if (actor) barrier.released[actor] = clock_of_phase(barrier.phase);
    }
  }
  // They know what the phase released from here on, even if they run later.
  const Warp* last = nullptr;
  const auto over = [&](Fiber* fiber) {
    if ((fiber->wait.detail & 1) != ((barrier.phase - 1) & 1)) return false;
    if (fiber->polls) std::erase(cluster.pollers, fiber);
    fiber->result = 1;
    make_ready(*fiber);
    if (fiber->warp != last && cluster.launch->detect_races)
      cluster.clocks.join(cluster.clocks.of(fiber->warp->index), barrier.released.data());
    last = fiber->warp;
    return true;
  };
  std::erase_if(barrier.waiting, over);
}

[[noreturn]] void fail_object(Fiber& fiber, const void* place, Op op, Block& block,
                              uint32_t offset) {
  Failure failure;
  failure.place = place;
  failure.shared_offset = offset;
  const Mbarrier* was = nullptr;
  for (unsigned i = 0; i < block.num_mbarriers; ++i) {
    if (block.mbarriers[i].offset == offset) was = &block.mbarriers[i];
  }
  failure.what =
      was ? fmt::format(
                "overwritten mbarrier: {} of the one at shared memory offset {}, whose bytes "
                "something else has written since it was initialised",
                name_of(op), offset)
          : fmt::format(
                "no mbarrier: {} at shared memory offset {}, where none has been initialised",
                name_of(op), offset);
  if (was) {
    failure.other_place = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(was->init_place));
    failure.other = "initialised";
  }
  fail(fiber, std::move(failure));
}

void check_known(Fiber& fiber, const void* place, Op op, const Mbarrier& barrier) {
  const unsigned actor = Tag::actor(barrier.init_tag);
  const uint16_t* known = fiber.cluster->clocks.of(fiber.warp->index);
  if (actor == fiber.warp->index || Tag::clock(barrier.init_tag) <= known[actor]) return;
  Failure failure;
  failure.place = place;
  failure.shared_offset = barrier.offset;
  failure.what = fmt::format(
      "race: {} of the mbarrier at shared memory offset {}, with no barrier after its "
      "initialisation",
      name_of(op), barrier.offset);
  failure.other = fmt::format("initialised by {}", name_of_actor(*fiber.cluster, barrier.init_tag));
  failure.other_place = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(barrier.init_place));
  fail(fiber, std::move(failure));
}

}  // namespace

void mbarrier_init(FfpaEmuThread* self, const void* place, unsigned address, unsigned arrivals) {
  Fiber& fiber = fiber_of(self);
  Block& block = *fiber.block;
  if (arrivals == 0 || arrivals > kMaxArrivals)
    fail(fiber, place,
         fmt::format("mbarrier.init for {} arrivals; allowed: 1 to {}", arrivals, kMaxArrivals));
  unsigned char* memory = write_shared(fiber, place, Op::kMbarrierInit, address, kBytes);
  const uint32_t offset = shared_offset(block, address);
  unsigned index = 0;
  while (index < block.num_mbarriers && block.mbarriers[index].offset != offset) ++index;
  const bool is_new = index == block.num_mbarriers;
  if (is_new) {
    if (index == block.mbarriers.size()) block.mbarriers.emplace_back();
    ++block.num_mbarriers;
  } else if (!block.mbarriers[index].waiting.empty()) {
    fail(fiber, place,
         fmt::format(
             "mbarrier.init of the mbarrier at shared memory offset {}, at which {} threads wait",
             offset, block.mbarriers[index].waiting.size()));
  }
  Mbarrier& barrier = block.mbarriers[index];
  if (is_new) {
    barrier.copy_actor = barrier.store_actor = 0;
    barrier.last_copier = nullptr;
    barrier.phase = 0;
  } else {
    // Its actors' clocks may not run backwards; the parity begins anew.
    barrier.phase += barrier.phase & 1;
  }
  barrier.offset = offset;
  barrier.fenced = false;
  barrier.arrivals = barrier.pending = arrivals;
  barrier.bytes = 0;
  barrier.init_tag = fiber.warp->tag | fiber.thread->lane << Tag::kLaneShift;
  barrier.init_place = place;
  barrier.gathered.assign(fiber.cluster->clocks.row(), 0);
  barrier.released.assign(fiber.cluster->clocks.row(), 0);
  const Object object{.index = index};
  std::memcpy(memory, &object, sizeof(object));
}

Mbarrier& mbarrier_at(Fiber& fiber, const void* place, Op op, Block& block, uint32_t offset) {
  check_shared(fiber, place, name_of(op), offset, kBytes, kBytes);
  Object object;
  std::memcpy(&object, block.shared + offset, sizeof(object));
  if (object.magic != Object{}.magic || object.index >= block.num_mbarriers ||
      block.mbarriers[object.index].offset != offset)
    fail_object(fiber, place, op, block, offset);
  Mbarrier& barrier = block.mbarriers[object.index];
  if (fiber.cluster->launch->detect_races) check_known(fiber, place, op, barrier);
  return barrier;
}

void mbarrier_arrive(FfpaEmuThread* self, const void* place, unsigned address, unsigned arrivals,
                     unsigned expected, unsigned in_cluster) {
  Fiber& fiber = fiber_of(self);
  Block& block = in_cluster ? block_of_address(fiber, place, name_of(Op::kMbarrierArrive), address)
                            : *fiber.block;
  const uint32_t offset = shared_offset(block, address);
  Mbarrier& barrier = mbarrier_at(fiber, place, Op::kMbarrierArrive, block, offset);
  barrier.bytes += expected;
  if (barrier.bytes > kMaxBytes) {
    fail(fiber, place,
         fmt::format(
             "mbarrier.arrive.expect_tx of {} bytes at the mbarrier at shared memory offset {}: "
             "its count of bytes would be {}, {} at most",
             expected, offset, barrier.bytes, kMaxBytes));
  }
  if (barrier.pending < arrivals) {
    fail(fiber, place,
         fmt::format(
             "too many arrivals: {} arrives at the mbarrier at shared memory offset {}, whose "
             "phase {} has all its {} arrivals and waits for {} bytes",
             arrivals, offset, barrier.phase, barrier.arrivals, barrier.bytes));
  }
  barrier.pending -= arrivals;
  if (fiber.cluster->launch->detect_races) {
    fiber.cluster->clocks.join(barrier.gathered.data(),
                               fiber.cluster->clocks.of(fiber.warp->index));
    // What this warp does from now on is not released.
    advance_clock(*fiber.warp);
  }
  ++fiber.cluster->progress;
  end_phase(block, barrier);
}

unsigned mbarrier_wait(FfpaEmuThread* self, const void* place, unsigned address, unsigned parity,
                       unsigned polls) {
  Fiber& fiber = fiber_of(self);
  Block& block = *fiber.block;
  const uint32_t offset = shared_offset(block, address);
  if (parity > 1)
    fail(fiber, place, fmt::format("mbarrier.try_wait of parity {}; allowed: 0, 1", parity));
  Mbarrier& barrier = mbarrier_at(fiber, place, Op::kMbarrierWait, block, offset);
  if ((barrier.phase & 1) != parity) {
    if (fiber.cluster->launch->detect_races)
      fiber.cluster->clocks.join(fiber.cluster->clocks.of(fiber.warp->index),
                                 barrier.released.data());
    return 1;
  }
  barrier.waiting.push_back(&fiber);
  fiber.polls = polls != 0;
  if (polls) fiber.cluster->pollers.push_back(&fiber);
  park(fiber, Op::kMbarrierWait, place, offset | parity);
  fiber.polls = false;
  return fiber.result;
}

void stop_polling(Fiber& fiber) {
  Block& block = *fiber.block;
  for (unsigned i = 0; i < block.num_mbarriers; ++i) std::erase(block.mbarriers[i].waiting, &fiber);
  fiber.result = 0;
  make_ready(fiber);
}

std::string complete_bytes(Block& block, Mbarrier& barrier, uint32_t issued, uint32_t bytes) {
  if (barrier.phase != issued) {
    return fmt::format(
        "expected too little: {} bytes come to the mbarrier at shared memory offset {} in phase "
        "{}; they "
        "were copied in phase {}, which expected fewer bytes and is over",
        bytes, barrier.offset, barrier.phase, issued);
  }
  barrier.bytes -= bytes;
  if (barrier.bytes < -kMaxBytes)
    return fmt::format(
        "the mbarrier at shared memory offset {} counts {} bytes that nobody expects",
        barrier.offset, -barrier.bytes);
  end_phase(block, barrier);
  return "";
}

void fence_inits(Fiber& fiber) {
  const uint32_t own = fiber.warp->tag & Tag::kActor;
  Block& block = *fiber.block;
  for (unsigned i = 0; i < block.num_mbarriers; ++i) {
    if ((block.mbarriers[i].init_tag & Tag::kActor) == own) block.mbarriers[i].fenced = true;
  }
}

std::string state_text(const Mbarrier& barrier) {
  return fmt::format("phase {} is under way: {} of {} arrivals and {} bytes are missing",
                     barrier.phase, barrier.pending, barrier.arrivals, barrier.bytes);
}

std::string waiting_text(const Block& block, unsigned offset, unsigned parity) {
  for (unsigned i = 0; i < block.num_mbarriers; ++i) {
    const Mbarrier& barrier = block.mbarriers[i];
    if (barrier.offset != offset) continue;
    return fmt::format(
        "mbarrier.try_wait for parity {} of the mbarrier at shared memory offset {} ({})", parity,
        offset, state_text(barrier));
  }
  return "mbarrier.try_wait";
}

}  // namespace ffpa_jit::emulator
