// CpuDevice: attention's kernels on this machine's processors. Memory is ordinary memory, a launch
// returns when the work is done, streams do not exist. Called by the runtime through Device.
//
// Kernel ABI: extern "C" void entry(const void* params, unsigned x, unsigned y, unsigned z, void*
// scratch), called once per cell of the grid, from several threads; `scratch` is the calling
// thread's own, 64-byte aligned, LaunchGeometry::dynamic_shared_bytes long, with arbitrary
// contents. The rounding mode and the flush-to-zero flags are the host's on the calling thread, and
// those of the thread that made the first launch on the others.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "device/cpu/thread_pool.h"
#include "device/device.h"

namespace ffpa_jit {

class CpuDevice final : public Device {
 public:
  // num_threads 0: all that this process may use (affinity mask, cgroup quota). `level` caps the
  // target.
  explicit CpuDevice(int num_threads = 0, const std::optional<Target>& level = std::nullopt);

  const DeviceInfo& info() const override { return info_; }

  std::unique_ptr<LoadedKernel> load(const KernelBinary& binary) override;
  std::unique_ptr<LoadedKernel> wrap(HostKernel kernel) override;
  void launch(const LoadedKernel& kernel, const LaunchGeometry& geometry,
              std::span<const std::byte> params, Stream stream) override;
  bool is_capturing(Stream) override { return false; }

  void* allocate(size_t bytes, Stream stream) override;
  void release(void* memory, Stream stream) noexcept override;
  void copy_to_device(void* to, const void* from, size_t bytes, Stream stream) override;
  void copy_to_host(void* to, const void* from, size_t bytes, Stream stream) override;
  void fill(void* memory, uint8_t value, size_t bytes, Stream stream) override;
  void synchronize(Stream) override {}

  double time_ms(Stream stream, const std::function<void()>& work) override;

 private:
  DeviceInfo info_;
  ThreadPool pool_;
};

// DeviceInfo::identity of a CPU with these name, target, threads and cache.
std::string cpu_identity(const DeviceInfo& info);

std::shared_ptr<Device> open_cpu_device(int num_threads,
                                        const std::optional<Target>& level = std::nullopt);

}  // namespace ffpa_jit
