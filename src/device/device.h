// Device: memory, kernels, launches. Knows nothing about attention.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "device/tensor_map.h"
#include "kernel/kernel_binary.h"
#include "problem/target.h"

namespace ffpa_jit {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  bool operator==(const Dim3&) const = default;
};

struct LaunchGeometry {
  Dim3 grid;
  Dim3 block;                         // CPU: ignored
  Dim3 cluster;                       // {1,1,1}: none
  uint32_t dynamic_shared_bytes = 0;  // CPU: scratch bytes per worker thread, 64-byte aligned
  // CUDA: may begin before the stream's launch before has ended; the kernel waits for it itself
  // (griddepcontrol).
  bool programmatic = false;
};

struct DeviceInfo {
  std::string name;      // "NVIDIA H200", "AMD EPYC ..."
  std::string text;      // "cuda:0", "cpu": what --device takes
  std::string identity;  // name + capability + multiprocessors + memory clock class: keys tunings
  Target target;         // the best target of this device
  int multiprocessors = 0;             // CPU: worker threads
  int64_t shared_bytes_per_block = 0;  // with opt-in; CPU: L2 bytes of one core
  int64_t memory_bytes = 0;
  int warp_size = 0;           // CPU: 0
  std::string driver_version;  // "CUDA 13.0"; empty where there is no driver
};

// Global memory that a launch may touch, by the name a report calls it.
struct MemoryRange {
  std::string_view name;
  const void* begin = nullptr;
  size_t bytes = 0;
  bool writable = false;
};

// A kernel ready to launch on the device that made it. Thread-safe to launch.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
};

// Opaque to everything but the device; CUDA: a CUstream; nullptr = default stream.
using Stream = void*;

// A CPU kernel as a closure: (params, x, y, z, scratch), called once per grid cell from several
// threads.
using HostKernel = std::function<void(const void*, unsigned, unsigned, unsigned, void*)>;

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;

  // Throws Error DEVICE_ERROR when the image cannot be loaded or has no such entry.
  virtual std::unique_ptr<LoadedKernel> load(const KernelBinary& binary) = 0;
  // A kernel compiled into the library. Throws Error UNSUPPORTED on every device but the CPU.
  virtual std::unique_ptr<LoadedKernel> wrap(HostKernel) {
    throw_error(FFPA_JIT_UNSUPPORTED,
                "a kernel compiled into the library cannot run on {}; allowed: cpu", info().text);
  }
  // `params` is copied before this returns. CPU: returns when the work is done.
  virtual void launch(const LoadedKernel& kernel, const LaunchGeometry& geometry,
                      std::span<const std::byte> params, Stream stream) = 0;
  // The same on a device that checks what a kernel touches (the emulator): nothing but `ranges` is
  // allowed.
  virtual bool checks_memory() const { return false; }
  virtual void launch_checked(const LoadedKernel& kernel, const LaunchGeometry& geometry,
                              std::span<const std::byte> params, Stream stream,
                              std::span<const MemoryRange> ranges) {
    (void)ranges;
    launch(kernel, geometry, params, stream);
  }
  // What a kernel's TMA instructions need to find `spec`. Throws Error UNSUPPORTED on a device
  // without TMA.
  virtual TensorMap encode_tensor_map(const TensorMapSpec& spec) {
    (void)spec;
    throw_error(FFPA_JIT_UNSUPPORTED,
                "{} has no tensor memory accelerator; allowed: CUDA devices of sm_90 and later",
                info().text);
  }
  // True inside a stream capture, where nothing may be loaded.
  virtual bool is_capturing(Stream stream) = 0;

  // Stream-ordered; nullptr size-0 requests are allowed. Throws OUT_OF_MEMORY.
  virtual void* allocate(size_t bytes, Stream stream) = 0;
  virtual void release(void* memory, Stream stream) noexcept = 0;
  virtual void copy_to_device(void* to, const void* from, size_t bytes, Stream stream) = 0;
  virtual void copy_to_host(void* to, const void* from, size_t bytes, Stream stream) = 0;
  virtual void fill(void* memory, uint8_t value, size_t bytes, Stream stream) = 0;
  virtual void synchronize(Stream stream) = 0;

  // Milliseconds that `work` (launches on `stream`) takes on the device: events on a GPU, the
  // steady clock on the CPU.
  virtual double time_ms(Stream stream, const std::function<void()>& work) = 0;
};

}  // namespace ffpa_jit
