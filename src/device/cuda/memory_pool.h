// Workspaces of launches, ordered by their stream. A pool of the library's own, which keeps what it
// has: the device's default one gives its memory back at every synchronisation, and taking it anew
// costs a launch 0.1 ms; its settings are the host's, not ours to change.
#pragma once

#include <cstddef>
#include <mutex>

#include "device/cuda/driver_api.h"

namespace ffpa_jit::cuda {

class MemoryPool {
 public:
  // Memory that stays reserved when nothing uses it, at most.
  static constexpr unsigned long long kKeptBytes = 128ull << 20;

  // `supported`: whether the device has pools. Takes nothing from the device yet.
  MemoryPool(const Driver& driver, CUdevice device, bool supported);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // Makes the pool, once. Not while a stream captures, so not left to the first launch.
  void prepare();

  // In the current context. Without pools (drivers before 11.2, some devices): cuMemAlloc, which
  // synchronises. Where the driver makes no pool: the device's default one. `call` becomes the
  // function that gave the result.
  CUresult allocate(CUdeviceptr* memory, size_t bytes, CUstream stream, const char** call);
  void release(CUdeviceptr memory, CUstream stream) noexcept;

 private:
  void create() noexcept;

  const Driver& driver_;
  const CUdevice device_;
  const bool ordered_;
  std::once_flag created_;
  CUmemoryPool pool_ = nullptr;
};

}  // namespace ffpa_jit::cuda
