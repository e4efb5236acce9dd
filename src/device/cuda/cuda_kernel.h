// CudaKernel: one entry of a loaded image, ready in every context of its device.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "device/cuda/context_scope.h"
#include "device/device.h"

namespace ffpa_jit::cuda {

class CudaKernel final : public LoadedKernel {
 public:
  // Call inside a ContextScope of `device`; that context is made ready, so that a launch in it
  // loads nothing.
  CudaKernel(std::shared_ptr<const Driver> driver, CUdevice device, const KernelBinary& binary,
             CUcontext context);
  ~CudaKernel() override;

  // The handle to launch in `context`, with room for the geometry's dynamic shared memory and
  // cluster. Sets function attributes only when a launch asks for more than any before it.
  CUfunction prepare(CUcontext context, const LaunchGeometry& geometry) const;

  const std::string& entry() const noexcept { return entry_; }
  CUdevice device() const noexcept { return device_; }

 private:
  struct Module {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    uint32_t dynamic_shared_bytes = 0;
    bool large_cluster = false;
  };

  CUfunction prepare_module(CUcontext context, const LaunchGeometry& geometry) const;
  void load_module(CUcontext context) const;

  std::shared_ptr<const Driver> driver_;
  CUdevice device_;
  std::string entry_;

  // What the driver has been told of the kernel is mutable: it changes nothing that a launch
  // computes. CUDA 12: one library serves every context.
  CUlibrary library_ = nullptr;
  CUkernel kernel_ = nullptr;
  mutable std::atomic<uint32_t> dynamic_shared_bytes_{0};
  mutable std::atomic<bool> large_cluster_{false};

  // Older drivers: one module a context, loaded when the context is first seen.
  std::vector<std::byte> image_;
  mutable std::mutex mutex_;
  mutable std::map<CUcontext, Module> modules_;
};

}  // namespace ffpa_jit::cuda
