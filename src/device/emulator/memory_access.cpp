#include "device/emulator/memory_access.h"

#include <fmt/format.h>

#include "device/emulator/async_actors.h"
#include "device/emulator/cluster_memory.h"
#include "device/emulator/scheduler.h"

namespace ffpa_jit::emulator {
namespace {

bool inside_shared(const Launch& launch, uint64_t offset, uint64_t bytes) {
  return offset + bytes <= launch.dynamic_shared_bytes ||
         (offset >= launch.static_shared_begin && offset + bytes <= kSharedBytes);
}

[[noreturn]] void fail_bounds(Fiber& fiber, const void* place, const char* what, uint64_t offset,
                              uint64_t bytes) {
  const Launch& launch = *fiber.cluster->launch;
  if (fiber.cluster->blocks.size() > 1 && offset >> kRankShift != 0) {
    fail(fiber, place,
         fmt::format(
             "out of bounds: {} of {} bytes at shared memory address {:#x}, which is in the block "
             "of rank {}; this instruction takes addresses of its own block, rank {}",
             what, bytes, offset ^ fiber.block->rank << kRankShift,
             (offset >> kRankShift) ^ fiber.block->rank, fiber.block->rank));
  }
  fail(fiber, place,
       fmt::format("out of bounds: {} of {} bytes at shared memory offset {}; the block has {} "
                   "bytes of dynamic shared memory and {} of "
                   "static, at {}",
                   what, bytes, offset, launch.dynamic_shared_bytes,
                   kSharedBytes - launch.static_shared_begin, launch.static_shared_begin));
}

[[noreturn]] void fail_alignment(Fiber& fiber, const void* place, const char* what, uint64_t bytes,
                                 const char* space, uint64_t address) {
  fail(fiber, place,
       fmt::format("misaligned: {} of {} bytes at {} {:#x}, which is not a multiple of {}", what,
                   bytes, space, address, bytes));
}

constexpr const char* kSharedSpace = "shared memory offset";
constexpr const char* kGlobalSpace = "global address";

template <bool kWrite>
void access_shared(Fiber& fiber, const void* place, uint64_t offset, uint64_t bytes,
                   unsigned alignment) {
  constexpr const char* kWhat = kWrite ? "write" : "read";
  const Launch& launch = *fiber.cluster->launch;
  if (!inside_shared(launch, offset, bytes)) fail_bounds(fiber, place, kWhat, offset, bytes);
  if (offset % alignment != 0) fail_alignment(fiber, place, kWhat, bytes, kSharedSpace, offset);
  if (!launch.detect_races) return;
  const Accessor who = accessor_of(fiber, place);
  ShadowMemory& shadow = *fiber.block->shadow;
  const Finding finding =
      kWrite ? shadow.write(static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes), who)
             : shadow.read(static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes), who);
  if (finding.hazard != Hazard::kNone)
    fail_shared(fiber, place, kWhat, static_cast<uint32_t>(bytes), finding);
}

template <bool kWrite>
void access(Fiber& fiber, const void* place, const void* memory, uint64_t bytes,
            unsigned alignment) {
  constexpr const char* kWhat = kWrite ? "write" : "read";
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const uint64_t offset = address - reinterpret_cast<uintptr_t>(fiber.block->shared);
  if (offset < kSharedBytes) return access_shared<kWrite>(fiber, place, offset, bytes, alignment);
  const Launch& launch = *fiber.cluster->launch;
  if (!launch.ranges->find(address, bytes, kWrite, fiber.block->range_hint[kWrite])) {
    if (!kWrite && address >= launch.image_begin && address < launch.image_end)
      return;  // the kernel's constants
    if (access_cluster(fiber, place, address, bytes, alignment, kWrite)) return;
    // In two statements: what a call that does not return was given is never destroyed.
    std::string& text = fiber.cluster->failure.what;
    text = fmt::format("out of bounds: {} of {} bytes of global memory {}", kWhat, bytes,
                       launch.ranges->describe(address, bytes, kWrite));
    fail(fiber, place, std::move(text));
  }
  if (address % alignment != 0) fail_alignment(fiber, place, kWhat, bytes, kGlobalSpace, address);
}

}  // namespace

Failure shared_failure(const Fiber& fiber, const void* place, const char* what, uint32_t bytes,
                       const Finding& finding) {
  Failure failure;
  failure.place = place;
  failure.shared_offset = finding.offset;
  const std::string where =
      fmt::format("{} of {} bytes of shared memory, at offset {}", what, bytes, finding.offset);
  const Cluster& cluster = *fiber.cluster;
  std::string other;
  if (finding.hazard != Hazard::kNeverWritten) other = name_of_actor(cluster, finding.other);
  const bool by_warp = Tag::actor(finding.other) < cluster.warps.size();
  switch (finding.hazard) {
    case Hazard::kNone:
      break;
    case Hazard::kNeverWritten:
      failure.what = fmt::format("uninitialised: {}, which nobody has written", where);
      break;
    case Hazard::kCopyOutstanding:
      failure.what =
          fmt::format("missing wait: {}, where a {} is on its way that {} not waited for", where,
                      by_warp ? "cp.async" : "copy", by_warp ? "its thread has" : "nobody has");
      failure.other_place = finding.other_place;
      failure.other = by_warp ? fmt::format("cp.async by {}", other) : other;
      break;
    case Hazard::kRaceWithWrite:
    case Hazard::kRaceWithRead:
      failure.what = fmt::format("race: {}, with no barrier after another thread's access", where);
      failure.other_place = finding.other_place;
      failure.other = fmt::format(
          "{} by {}", finding.hazard == Hazard::kRaceWithWrite ? "written" : "read", other);
      break;
    case Hazard::kMissingProxyFence:
      failure.what = fmt::format(
          "missing proxy fence: {} by the asynchronous proxy, with no fence.proxy.async after an "
          "ordinary write",
          where);
      failure.other_place = finding.other_place;
      failure.other = fmt::format("written by {}", other);
      break;
  }
  return failure;
}

Accessor accessor_of(const Fiber& fiber, const void* place) {
  const Warp& warp = *fiber.warp;
  return {warp.tag | fiber.thread->lane << Tag::kLaneShift, fiber.cluster->clocks.of(warp.index),
          static_cast<uint32_t>(reinterpret_cast<uintptr_t>(place))};
}

void fail_shared(Fiber& fiber, const void* place, const char* what, uint32_t bytes,
                 const Finding& finding) {
  fail(fiber, shared_failure(fiber, place, what, bytes, finding));
}

void check_read(FfpaEmuThread* self, const void* place, const void* memory,
                unsigned long long bytes, unsigned alignment) {
  access<false>(fiber_of(self), place, memory, bytes, alignment);
}

void check_write(FfpaEmuThread* self, const void* place, void* memory, unsigned long long bytes,
                 unsigned alignment) {
  access<true>(fiber_of(self), place, memory, bytes, alignment);
}

void check_atomic(FfpaEmuThread* self, const void* place, void* memory, unsigned bytes) {
  Fiber& fiber = fiber_of(self);
  const uint64_t offset =
      reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(fiber.block->shared);
  if (offset >= kSharedBytes) return access<true>(fiber, place, memory, bytes, bytes);
  // Atomics do not race with each other; that they do with plain accesses is not looked for.
  if (!inside_shared(*fiber.cluster->launch, offset, bytes))
    fail_bounds(fiber, place, "atomic", offset, bytes);
  if (offset % bytes != 0) fail_alignment(fiber, place, "atomic", bytes, kSharedSpace, offset);
}

unsigned shared_address(FfpaEmuThread* self, const void* place, const void* memory) {
  Fiber& fiber = fiber_of(self);
  const uint64_t offset =
      reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(fiber.block->shared);
  if (offset > kSharedBytes) {
    fail(fiber, place,
         fmt::format("cvta to .shared of {}, which is not shared memory", fmt::ptr(memory)));
  }
  return static_cast<unsigned>(offset) | fiber.block->rank << kRankShift;
}

void check_shared(Fiber& fiber, const void* place, const char* what, uint64_t offset,
                  uint64_t bytes, unsigned alignment) {
  if (!inside_shared(*fiber.cluster->launch, offset, bytes))
    fail_bounds(fiber, place, what, offset, bytes);
  if (offset % alignment != 0) fail_alignment(fiber, place, what, alignment, kSharedSpace, offset);
}

unsigned char* locate_shared(Fiber& fiber, const void* place, const char* what, uint32_t address,
                             uint32_t bytes) {
  const uint32_t offset = shared_offset(*fiber.block, address);
  check_shared(fiber, place, what, offset, bytes, bytes);
  return fiber.block->shared + offset;
}

void* shared_memory(FfpaEmuThread* self, const void* place, unsigned address, unsigned bytes) {
  return locate_shared(fiber_of(self), place, "access", address, bytes);
}

const unsigned char* read_shared(Fiber& fiber, const void* place, Op op, uint32_t address,
                                 uint32_t bytes) {
  const unsigned char* memory = locate_shared(fiber, place, name_of(op), address, bytes);
  if (!fiber.cluster->launch->detect_races) return memory;
  const Finding finding = fiber.block->shadow->read(shared_offset(*fiber.block, address), bytes,
                                                    accessor_of(fiber, place));
  if (finding.hazard != Hazard::kNone) fail_shared(fiber, place, name_of(op), bytes, finding);
  return memory;
}

unsigned char* write_shared(Fiber& fiber, const void* place, Op op, uint32_t address,
                            uint32_t bytes) {
  unsigned char* memory = locate_shared(fiber, place, name_of(op), address, bytes);
  if (!fiber.cluster->launch->detect_races) return memory;
  const Finding finding = fiber.block->shadow->write(shared_offset(*fiber.block, address), bytes,
                                                     accessor_of(fiber, place));
  if (finding.hazard != Hazard::kNone) fail_shared(fiber, place, name_of(op), bytes, finding);
  return memory;
}

}  // namespace ffpa_jit::emulator
