#include "device/emulator/async_copy.h"

#include <fmt/format.h>

#include <cstring>

#include "device/emulator/memory_access.h"
#include "device/emulator/scheduler.h"

namespace ffpa_jit::emulator {
namespace {

void move(const Fiber& fiber, const PendingCopy& copy) {
  unsigned char* to = fiber.block->shared + copy.to;
  std::memcpy(to, copy.from, copy.source_bytes);
  std::memset(to + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
}

}  // namespace

void cp_async(FfpaEmuThread* self, const void* place, unsigned to, const void* from, unsigned bytes,
              unsigned source_bytes) {
  Fiber& fiber = fiber_of(self);
  const Launch& launch = *fiber.cluster->launch;
  if (source_bytes > bytes)
    fail(fiber, place,
         fmt::format("cp.async of {} bytes with a source of {}", bytes, source_bytes));
  locate_shared(fiber, place, "cp.async", to, bytes);
  to = shared_offset(*fiber.block, to);
  if (reinterpret_cast<uintptr_t>(from) % bytes != 0) {
    fail(fiber, place,
         fmt::format("misaligned: cp.async of {} bytes from global address {}", bytes,
                     fmt::ptr(from)));
  }
  if (source_bytes > 0) check_read(self, place, from, source_bytes, 1);
  const PendingCopy copy{to, bytes, source_bytes, from, place};
  if (launch.detect_races) {
    const Finding finding = fiber.block->shadow->begin_copy(to, bytes, accessor_of(fiber, place));
    if (finding.hazard != Hazard::kNone) fail_shared(fiber, place, "cp.async", bytes, finding);
  }
  if (launch.schedule.order == Order::kEarly) move(fiber, copy);
  fiber.copies.push_back(copy);
}

void cp_async_commit(FfpaEmuThread* self, const void*) {
  Fiber& fiber = fiber_of(self);
  fiber.copy_groups.push_back(static_cast<uint32_t>(fiber.copies.size()));
}

void cp_async_wait(FfpaEmuThread* self, const void*, unsigned pending_groups) {
  Fiber& fiber = fiber_of(self);
  const Launch& launch = *fiber.cluster->launch;
  const bool all = pending_groups == ~0u;
  if (!all && fiber.copy_groups.size() <= pending_groups) return;
  const size_t groups = all ? fiber.copy_groups.size() : fiber.copy_groups.size() - pending_groups;
  const uint32_t end =
      all ? static_cast<uint32_t>(fiber.copies.size()) : fiber.copy_groups[groups - 1];
  for (uint32_t i = 0; i < end; ++i) {
    const PendingCopy& copy = fiber.copies[i];
    if (launch.schedule.order != Order::kEarly) move(fiber, copy);
    if (launch.detect_races)
      fiber.block->shadow->land_copy(copy.to, copy.bytes, accessor_of(fiber, copy.place));
  }
  fiber.copies.erase(fiber.copies.begin(), fiber.copies.begin() + end);
  fiber.copy_groups.erase(fiber.copy_groups.begin(),
                          fiber.copy_groups.begin() + static_cast<ptrdiff_t>(groups));
  for (uint32_t& group : fiber.copy_groups) group -= end;
}

}  // namespace ffpa_jit::emulator
