#include "device/emulator/warpgroup_multiply.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "device/emulator/async_actors.h"
#include "device/emulator/matrix_descriptor.h"
#include "device/emulator/memory_access.h"
#include "device/emulator/scheduler.h"
#include "device/emulator/warpgroup_product.h"

namespace ffpa_jit::emulator {
namespace {

constexpr float kPoison = std::bit_cast<float>(0x7fffa5a5u);
constexpr uint32_t kChunkBytes = 16;

uint32_t low_half(const void* place) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(place));
}

// ---- accumulators

// What of the lane's stack the kernel is asked to tell of: arrays in use, and those whose next
// touch is the first since a wgmma.fence.
void watch(const Warpgroup& group, unsigned lane) {
  uint64_t begin = UINT64_MAX, end = 0;
  for (const auto& accumulator : group.accumulators) {
    if (!accumulator->lanes[lane] || (!accumulator->taken[lane] && accumulator->touched[lane]))
      continue;
    begin = std::min(begin, accumulator->begin(lane));
    end = std::max(end, accumulator->end(lane));
  }
  FfpaEmuThread& thread = *thread_of(group, lane).thread;
  thread.watched_begin = begin;
  thread.watched_bytes = end ? end - begin : 0;
}

// The lane's array holds NaN from now on; its values go to the matrix.
void take(Fiber& fiber, const void* place, Warpgroup& group, Accumulator& accumulator,
          unsigned lane, float* d, bool accumulates) {
  const unsigned count = accumulator.columns / 2;
  if (accumulator.lanes[lane] && accumulator.lanes[lane] != d)
    fail(fiber, place, "divergent wgmma: threads of one warpgroup pass different accumulators");
  if (accumulator.lanes[lane] && accumulator.touched[lane]) {
    fail(
        fiber, place,
        "missing wgmma.fence: the accumulator has been touched since the last wgmma on it, with no "
        "wgmma.fence before this one");
  }
  accumulator.lanes[lane] = d;
  accumulator.taken[lane] = true;
  for (unsigned i = 0; i < count && accumulates; ++i) {
    const MatrixPlace at = place_of_register(lane, i);
    accumulator.matrix[at.row * accumulator.columns + at.column] = d[i];
  }
  std::fill_n(d, count, kPoison);
  watch(group, lane);
}

void give_back(Warpgroup& group, Accumulator& accumulator) {
  const unsigned count = accumulator.columns / 2;
  for (unsigned lane = 0; lane < kWarpgroupThreads; ++lane) {
    float* d = accumulator.lanes[lane];
    for (unsigned i = 0; i < count; ++i) {
      const MatrixPlace at = place_of_register(lane, i);
      d[i] = accumulator.matrix[at.row * accumulator.columns + at.column];
    }
    accumulator.taken[lane] = accumulator.touched[lane] = false;
    watch(group, lane);
  }
}

// The accumulator that the lane's array `d` is, or a free one.
unsigned accumulator_for(Fiber& fiber, const void* place, Warpgroup& group, unsigned lane, float* d,
                         unsigned columns) {
  unsigned found = UINT32_MAX;
  for (unsigned i = 0; i < group.accumulators.size(); ++i) {
    const Accumulator& other = *group.accumulators[i];
    const float* begin = other.lanes[lane];
    if (!begin) continue;
    if (begin == d && other.columns == columns) {
      found = i;
    } else if (other.pending && begin < d + columns / 2 && d < begin + other.columns / 2) {
      fail(fiber, place,
           "wgmma on part of an accumulator that another wgmma of another shape is still writing");
    }
  }
  if (found != UINT32_MAX) return found;
  for (unsigned i = 0; i < group.accumulators.size(); ++i) {
    Accumulator& other = *group.accumulators[i];
    if (other.pending) continue;
    found = i;
    break;
  }
  if (found == UINT32_MAX) {
    group.accumulators.push_back(std::make_unique<Accumulator>());
    found = static_cast<unsigned>(group.accumulators.size() - 1);
  }
  Accumulator& fresh = *group.accumulators[found];
  fresh.columns = columns;
  fresh.lanes.fill(nullptr);
  fresh.touched.fill(false);
  fresh.matrix.resize(size_t{kRows} * columns);
  return found;
}

// ---- operands

// Calls visit(offset) for each 16 bytes that an operand of `count` rows or columns is made of.
template <typename Visit>
void for_each_chunk(const MatrixDescriptor& matrix, unsigned count, bool mn_major, Visit&& visit) {
  if (mn_major) {
    for (unsigned k = 0; k < kDepth; ++k)
      for (unsigned mn8 = 0; mn8 < count / 8; ++mn8) visit(matrix.mn_major(k, mn8));
  } else {
    for (unsigned mn = 0; mn < count; ++mn)
      for (unsigned k8 = 0; k8 < kDepth / 8; ++k8) visit(matrix.k_major(mn, k8));
  }
}

void check_bounds(Fiber& fiber, const void* place, uint64_t descriptor, unsigned count,
                  bool mn_major) {
  const MatrixDescriptor matrix(descriptor);
  if (matrix.base_offset != 0) {
    fail(fiber, place,
         fmt::format(
             "wgmma with a base offset of {} in its descriptor {:#018x}, which the emulator does "
             "not know; align swizzled tiles to their pattern: 1024, 512 or 256 bytes",
             matrix.base_offset, descriptor));
  }
  const uint32_t dynamic = fiber.cluster->launch->dynamic_shared_bytes;
  for_each_chunk(matrix, count, mn_major, [&](uint32_t offset) {
    if (offset + kChunkBytes > dynamic)
      check_shared(fiber, place, "wgmma, by its descriptor,", offset, kChunkBytes, kChunkBytes);
  });
}

// What all four warps know.
AsyncAccessor accessor_of_warpgroup(Fiber& fiber, Warpgroup& group, const void* place) {
  Cluster& cluster = *fiber.cluster;
  if (!group.actor)
    group.actor = make_actor(fiber, place, AsyncActor::kWgmma, *group.block, group.index);
  const unsigned stride = cluster.clocks.stride();
  group.known.assign(stride, Clocks::kLast);
  group.fenced.assign(stride, Clocks::kLast);
  for (unsigned w = 0; w < kWarpgroup; ++w) {
    const unsigned warp = thread_of(group, w * kWarpSize).warp->index;
    const uint16_t *known = cluster.clocks.of(warp), *fenced = cluster.clocks.fenced(warp);
    for (unsigned i = 0; i < stride; ++i) {
      group.known[i] = std::min(group.known[i], known[i]);
      group.fenced[i] = std::min(group.fenced[i], fenced[i]);
    }
  }
  AsyncAccessor who;
  who.tag = Tag::make(group.actor, 0, clock_of_phase(fiber.multiply_groups + 1));
  who.clock = group.known.data();
  who.fenced = group.fenced.data();
  who.generic_actors = cluster.generic_actors.data();
  who.place = low_half(place);
  return who;
}

void read_operands(Fiber& fiber, Warpgroup& group, const Multiply& multiply) {
  const AsyncAccessor who = accessor_of_warpgroup(fiber, group, multiply.place);
  ShadowMemory& shadow = *group.block->shadow;
  const auto read = [&](uint32_t offset) {
    const Finding finding = shadow.async_read(offset, kChunkBytes, who);
    if (finding.hazard != Hazard::kNone)
      fail_shared(fiber, multiply.place, "wgmma", kChunkBytes, finding);
  };
  if (!multiply.a_in_registers)
    for_each_chunk(MatrixDescriptor(multiply.a), kRows, multiply.shape.transpose_a, read);
  for_each_chunk(MatrixDescriptor(multiply.b), multiply.shape.columns, multiply.shape.transpose_b,
                 read);
}

// ---- one wgmma

Multiply& new_multiply(Warpgroup& group) {
  std::unique_ptr<Multiply> fresh;
  if (group.spare.empty()) {
    fresh = std::make_unique<Multiply>();
  } else {
    fresh = std::move(group.spare.back());
    group.spare.pop_back();
  }
  fresh->issued = 0;
  fresh->group = 0;
  fresh->done = false;
  group.multiplies.push_back(std::move(fresh));
  return *group.multiplies.back();
}

[[noreturn]] void fail_divergent(Fiber& fiber, const void* place, const void* other) {
  Failure failure;
  failure.what = "divergent wgmma: threads of one warpgroup issue different ones";
  failure.place = place;
  failure.other_place = low_half(other);
  failure.other = "another thread's";
  fail(fiber, std::move(failure));
}

void execute(const Warpgroup& group, Multiply& multiply) {
  if (multiply.done) return;
  multiply.done = true;
  emulator::multiply(multiply, group.block->shared,
                     group.accumulators[multiply.accumulator]->matrix.data());
}

}  // namespace

void wgmma(FfpaEmuThread* self, const void* place, const FfpaEmuWgmma* shape, float* d,
           const unsigned* a, unsigned long long descriptor_a, unsigned long long descriptor_b,
           unsigned accumulates) {
  Fiber& fiber = fiber_of(self);
  Warpgroup& group = warpgroup_of(fiber, place, Op::kWgmma);
  const unsigned lane = lane_in_warpgroup(fiber);
  const uint64_t number = fiber.multiplies_issued++ - group.first;
  if (number == group.multiplies.size()) {
    if (shape->columns < 8 || shape->columns > 256 || shape->columns % 8 != 0)
      fail(fiber, place,
           fmt::format("wgmma of n = {}; allowed: multiples of 8 up to 256", shape->columns));
    if (!a) check_bounds(fiber, place, descriptor_a, kRows, shape->transpose_a);
    check_bounds(fiber, place, descriptor_b, shape->columns, shape->transpose_b);
    const unsigned accumulator = accumulator_for(fiber, place, group, lane, d, shape->columns);
    Multiply& fresh = new_multiply(group);
    fresh.shape = *shape;
    fresh.place = place;
    fresh.a = descriptor_a;
    fresh.b = descriptor_b;
    fresh.accumulates = accumulates != 0;
    fresh.a_in_registers = a != nullptr;
    fresh.accumulator = accumulator;
    ++group.accumulators[accumulator]->pending;
    group.accumulators[accumulator]->place = low_half(place);
  }
  Multiply& multiply = *group.multiplies[number];
  if (multiply.place != place || multiply.a != descriptor_a || multiply.b != descriptor_b ||
      multiply.accumulates != (accumulates != 0) ||
      std::memcmp(&multiply.shape, shape, sizeof(*shape)) != 0)
    fail_divergent(fiber, place, multiply.place);
  if (!fiber.ever_fenced)
    fail(fiber, place, "missing wgmma.fence: there is none before the thread's first wgmma");
  if (a && fiber.touched_registers) {
    fail(fiber, place,
         "missing wgmma.fence: A is in registers, and the thread has touched an accumulator since "
         "its last "
         "wgmma.fence, which A may come from");
  }
  Accumulator& accumulator = *group.accumulators[multiply.accumulator];
  if (!accumulator.taken[lane])
    take(fiber, place, group, accumulator, lane, d, multiply.accumulates);
  else if (accumulator.lanes[lane] != d)
    fail(fiber, place, "divergent wgmma: threads of one warpgroup pass different accumulators");
  if (a) std::copy_n(a, 4, multiply.registers[lane].begin());
  if (++multiply.issued < kWarpgroupThreads) return;
  if (fiber.cluster->launch->detect_races) read_operands(fiber, group, multiply);
  if (fiber.cluster->launch->schedule.order == Order::kEarly) execute(group, multiply);
}

void wgmma_fence(FfpaEmuThread* self, const void* place) {
  Fiber& fiber = fiber_of(self);
  fiber.ever_fenced = true;
  if (!fiber.touched_registers) return;
  fiber.touched_registers = false;
  Warpgroup& group = warpgroup_of(fiber, place, Op::kWgmma);
  const unsigned lane = lane_in_warpgroup(fiber);
  for (const auto& accumulator : group.accumulators) accumulator->touched[lane] = false;
  watch(group, lane);
}

void wgmma_commit(FfpaEmuThread* self, const void* place) {
  Fiber& fiber = fiber_of(self);
  Warpgroup& group = warpgroup_of(fiber, place, Op::kWgmma);
  ++fiber.multiply_groups;
  for (uint64_t i = fiber.multiplies_issued - group.first; i-- > 0;) {
    Multiply& multiply = *group.multiplies[i];
    if (multiply.group != 0 && multiply.group < fiber.multiply_groups) break;
    if (multiply.group != 0 && multiply.group != fiber.multiply_groups)
      fail(fiber, place,
           "divergent wgmma.commit_group: threads of one warpgroup commit different groups");
    multiply.group = fiber.multiply_groups;
  }
}

void wgmma_wait(FfpaEmuThread* self, const void* place, unsigned pending_groups) {
  Fiber& fiber = fiber_of(self);
  Warpgroup& group = warpgroup_of(fiber, place, Op::kWgmmaWait);
  if (!meet_warpgroup(fiber, group, place, Op::kWgmmaWait, fiber.multiply_groups)) return;
  const uint32_t committed = fiber.multiply_groups;
  const uint32_t over = committed > pending_groups ? committed - pending_groups : 0;
  size_t count = 0;
  while (count < group.multiplies.size()) {
    Multiply& multiply = *group.multiplies[count];
    if (multiply.group == 0 || multiply.group > over) break;
    if (multiply.issued < kWarpgroupThreads) fail_divergent(fiber, place, multiply.place);
    execute(group, multiply);
    Accumulator& accumulator = *group.accumulators[multiply.accumulator];
    if (--accumulator.pending == 0) give_back(group, accumulator);
    ++count;
  }
  const auto end = group.multiplies.begin() + static_cast<ptrdiff_t>(count);
  std::move(group.multiplies.begin(), end, std::back_inserter(group.spare));
  group.multiplies.erase(group.multiplies.begin(), end);
  group.first += count;
  Cluster& cluster = *fiber.cluster;
  for (unsigned w = 0; w < kWarpgroup && group.actor && over > 0; ++w) {
    const unsigned warp = thread_of(group, w * kWarpSize).warp->index;
    cluster.clocks.of(warp)[group.actor] = clock_of_phase(over);
  }
  go_on(fiber, group);
}

void watched(FfpaEmuThread* self, const void* place, const void* memory, unsigned long long bytes,
             unsigned writes) {
  Fiber& fiber = fiber_of(self);
  Warpgroup& group = warpgroup_of(fiber, place, Op::kWgmma);
  const unsigned lane = lane_in_warpgroup(fiber);
  const auto begin = reinterpret_cast<uint64_t>(memory);
  bool first = false;
  for (const auto& accumulator : group.accumulators) {
    if (!accumulator->lanes[lane] || begin + bytes <= accumulator->begin(lane) ||
        begin >= accumulator->end(lane))
      continue;
    if (!accumulator->taken[lane]) {
      first |= !accumulator->touched[lane];
      accumulator->touched[lane] = true;
      continue;
    }
    Failure failure;
    failure.what = fmt::format(
        "accumulator in use: {} of register {} of an accumulator between its wgmma and the "
        "wgmma.wait_group that completes it",
        writes ? "write" : "read",
        begin < accumulator->begin(lane) ? 0 : (begin - accumulator->begin(lane)) / sizeof(float));
    failure.place = place;
    failure.other = "wgmma";
    failure.other_place = accumulator->place;
    fail(fiber, std::move(failure));
  }
  if (!first) return;
  fiber.touched_registers = true;
  watch(group, lane);
}

void check_multiplies_over(Fiber& fiber) {
  if (fiber.multiplies_issued == 0) return;
  const Warpgroup& group = *fiber.block->warpgroups[fiber.thread->warp / kWarpgroup];
  for (const auto& accumulator : group.accumulators) {
    if (!accumulator->taken[lane_in_warpgroup(fiber)]) continue;
    Failure failure;
    failure.what =
        "missing wait: a thread leaves the kernel with a wgmma that no wgmma.wait_group has "
        "completed";
    failure.other = "wgmma";
    failure.other_place = accumulator->place;
    fail(fiber, std::move(failure));
  }
}

}  // namespace ffpa_jit::emulator
