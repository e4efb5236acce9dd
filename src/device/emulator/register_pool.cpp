#include "device/emulator/register_pool.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/emulator/scheduler.h"
#include "device/emulator/warpgroup.h"

namespace ffpa_jit::emulator {
namespace {

constexpr unsigned kMultiprocessorRegisters = 65536, kMost = 256, kFewest = 24, kUnit = 8;

// What each thread of a block has at most when it begins: how many a kernel was compiled for is not
// known here.
unsigned at_launch(const FfpaEmuIndex& block) {
  const unsigned threads = block.x * block.y * block.z;
  return std::min(kMost, kMultiprocessorRegisters / threads / kUnit * kUnit);
}

}  // namespace

void set_max_registers(FfpaEmuThread* self, const void* place, unsigned registers,
                       unsigned increases) {
  Fiber& fiber = fiber_of(self);
  Block& block = *fiber.block;
  const char* what = increases ? "inc" : "dec";
  if (registers < kFewest || registers > kMost || registers % kUnit != 0) {
    fail(fiber, place,
         fmt::format("setmaxnreg.{} {}; allowed: multiples of {} from {} to {}", what, registers,
                     kUnit, kFewest, kMost));
  }
  Warpgroup& group = warpgroup_of(fiber, place, Op::kSetmaxnreg);
  if (!meet_warpgroup(fiber, group, place, Op::kSetmaxnreg, registers)) return;
  const bool known = group.registers != 0;
  if (!known) group.registers = at_launch(fiber.thread->block_dim);
  if (increases ? known && registers < group.registers : registers > group.registers) {
    fail(
        fiber, place,
        fmt::format("setmaxnreg.{} {} where each thread has {}", what, registers, group.registers));
  }
  if (increases) {
    const unsigned more = registers > group.registers ? registers - group.registers : 0;
    const unsigned wanted = more * kWarpgroupThreads;
    while (block.free_registers < wanted) {
      block.waiting_for_registers.push_back(&fiber);
      park(fiber, Op::kSetmaxnreg, place);
    }
    block.free_registers -= wanted;
  } else {
    block.free_registers += (group.registers - registers) * kWarpgroupThreads;
    for (Fiber* waiting : block.waiting_for_registers) make_ready(*waiting);
    block.waiting_for_registers.clear();
    ++block.cluster->progress;
  }
  group.registers = registers;
  go_on(fiber, group);
}

}  // namespace ffpa_jit::emulator
