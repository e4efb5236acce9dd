// ContextScope: makes a context of one device current for a few driver calls, and restores the
// caller's state.
#pragma once

#include <mutex>

#include "device/cuda/driver_api.h"

namespace ffpa_jit::cuda {

// The device's primary context, which the CUDA runtime (and so every framework) works in. Retained
// on first need, so that asking a device for its name creates no context.
class PrimaryContext {
 public:
  PrimaryContext(const Driver& driver, CUdevice device) : driver_(driver), device_(device) {}
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  CUcontext get();  // throws Error

 private:
  const Driver& driver_;
  CUdevice device_;
  std::mutex mutex_;
  CUcontext context_ = nullptr;
};

// The caller's current context when it is one of `device`; else the context of `stream`; for the
// default stream the primary context. Throws Error when the stream belongs to another device.
class ContextScope {
 public:
  ContextScope(const Driver& driver, CUdevice device, PrimaryContext& primary, CUstream stream);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  CUcontext context() const noexcept { return context_; }

 private:
  const Driver& driver_;
  CUcontext context_ = nullptr;
  bool pushed_ = false;
};

}  // namespace ffpa_jit::cuda
