#include "device/cuda/context_scope.h"

#include <cstdint>

#include "base/error.h"

namespace ffpa_jit::cuda {
namespace {

// 0, 1 (CU_STREAM_LEGACY) and 2 (CU_STREAM_PER_THREAD) name a stream of whatever context is
// current.
bool is_default(CUstream stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }

}  // namespace

PrimaryContext::~PrimaryContext() {
  if (context_) driver_.cuDevicePrimaryCtxRelease(device_);
}

CUcontext PrimaryContext::get() {
  const std::lock_guard lock(mutex_);
  if (!context_) {
    driver_.check(driver_.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain",
                  "taking the device's primary context");
  }
  return context_;
}

ContextScope::ContextScope(const Driver& driver, CUdevice device, PrimaryContext& primary,
                           CUstream stream)
    : driver_(driver) {
  driver.check(driver.cuCtxGetCurrent(&context_), "cuCtxGetCurrent", "asking for the context");
  CUdevice current = -1;
  if (context_) {
    driver.check(driver.cuCtxGetDevice(&current), "cuCtxGetDevice", "asking whose context it is");
    if (current == device) return;
  }

  if (is_default(stream)) {
    context_ = primary.get();
  } else {
    driver.check(driver.cuStreamGetCtx(stream, &context_), "cuStreamGetCtx",
                 "asking for the stream's context");
  }
  driver.check(driver.cuCtxPushCurrent(context_), "cuCtxPushCurrent", "entering the context");
  pushed_ = true;
  if (is_default(stream)) return;
  // The destructor of an object whose constructor throws does not run.
  const CUresult result = driver.cuCtxGetDevice(&current);
  if (result == CUDA_SUCCESS && current == device) return;
  CUcontext popped = nullptr;
  driver.cuCtxPopCurrent(&popped);
  driver.check(result, "cuCtxGetDevice", "asking whose stream it is");
  throw_error(FFPA_JIT_INVALID_ARGUMENT,
              "the stream belongs to CUDA device {}, the call asks for device {}; pass a stream of "
              "device {}",
              current, device, device);
}

ContextScope::~ContextScope() {
  CUcontext popped = nullptr;
  if (pushed_) driver_.cuCtxPopCurrent(&popped);
}

}  // namespace ffpa_jit::cuda
