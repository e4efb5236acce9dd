// The stacks of emulated threads: one slot each, as large as kFfpaEmuStackBytes and aligned to it
// (table.h says why). Pages come when they are touched. No guard pages, of which a large block
// would need more than the system has: the compiler refuses kernels whose frame is too large
// (compile/emulator_options.cpp).
#pragma once

#include <cstddef>

#include "device/emulator/table.h"

namespace ffpa_jit::emulator {

class FiberStacks {
 public:
  FiberStacks() = default;
  ~FiberStacks();
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

  // At least `count` slots from now on; what they held is lost when there were fewer. Throws Error
  // OUT_OF_MEMORY.
  void reserve(size_t count);

  // The public part of thread `index`, at the top of its slot; the stack begins below it.
  FfpaEmuThread* thread(size_t index) const {
    return reinterpret_cast<FfpaEmuThread*>(slots_ + (index + 1) * kFfpaEmuStackBytes -
                                            sizeof(FfpaEmuThread));
  }
  unsigned char* lowest(size_t index) const { return slots_ + index * kFfpaEmuStackBytes; }

 private:
  void release();

  unsigned char* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  unsigned char* slots_ = nullptr;
  size_t count_ = 0;
};

}  // namespace ffpa_jit::emulator
