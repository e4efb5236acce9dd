#include "device/emulator/fences.h"

#include "device/emulator/mbarrier.h"
#include "device/emulator/scheduler.h"

namespace ffpa_jit::emulator {

// What the warp's threads write from here on is not fenced: the clock moves on.
void fence(FfpaEmuThread* self, const void*, FfpaEmuFence kind) {
  Fiber& fiber = fiber_of(self);
  if (!fiber.cluster->launch->detect_races) return;
  if (kind == kFfpaEmuFenceMbarrierInit) return fence_inits(fiber);
  fiber.cluster->clocks.fence(fiber.warp->index);
  advance_clock(*fiber.warp);
}

}  // namespace ffpa_jit::emulator
