// Memory at a 64-byte boundary: a cache line, and the widest vector register. Called by the CPU
// device for tensors and for the kernels' scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace ffpa_jit {

struct FreeMemory {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

// Null when there is none left, and for 0 bytes.
inline std::unique_ptr<void, FreeMemory> allocate_aligned(size_t bytes) noexcept {
  constexpr size_t kAlignment = 64;
  void* memory = nullptr;
  if (bytes > PTRDIFF_MAX) return nullptr;  // sanitizers end the process at such sizes
  if (bytes == 0 || ::posix_memalign(&memory, kAlignment, bytes) != 0) return nullptr;
  return std::unique_ptr<void, FreeMemory>(memory);
}

}  // namespace ffpa_jit
