#include "device/emulator/fiber_stacks.h"

#include <sys/mman.h>

#include <cstdint>

#include "base/error.h"

namespace ffpa_jit::emulator {

FiberStacks::~FiberStacks() { release(); }

void FiberStacks::release() {
  if (mapping_) ::munmap(mapping_, mapping_bytes_);
  mapping_ = slots_ = nullptr;
  count_ = 0;
}

void FiberStacks::reserve(size_t count) {
  if (count <= count_) return;
  release();
  const size_t bytes = (count + 1) * kFfpaEmuStackBytes;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw_error(FFPA_JIT_OUT_OF_MEMORY,
                "emulator: no address space for the stacks of {} threads ({} bytes each); use "
                "smaller blocks",
                count, kFfpaEmuStackBytes);
  }
  mapping_ = static_cast<unsigned char*>(memory);
  mapping_bytes_ = bytes;
  const uintptr_t aligned =
      (reinterpret_cast<uintptr_t>(memory) + kFfpaEmuStackBytes - 1) & ~(kFfpaEmuStackBytes - 1);
  slots_ = reinterpret_cast<unsigned char*>(aligned);
  count_ = count;
}

}  // namespace ffpa_jit::emulator
