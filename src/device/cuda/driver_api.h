// The CUDA driver, loaded when first asked for. Used by everything in this folder; absence is an
// answer with a reason, not a failure.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/dynamic_library.h"
#include "device/cuda/driver_types.h"

namespace ffpa_jit::cuda {

// X(name in this table, exported symbol, parameters). The symbol carries the version whose
// parameters these are.
#define FFPA_CUDA_REQUIRED(X)                                                                    \
  X(cuInit, cuInit, (unsigned flags))                                                            \
  X(cuDriverGetVersion, cuDriverGetVersion, (int* version))                                      \
  X(cuGetErrorName, cuGetErrorName, (CUresult error, const char** name))                         \
  X(cuGetErrorString, cuGetErrorString, (CUresult error, const char** text))                     \
  X(cuDeviceGetCount, cuDeviceGetCount, (int* count))                                            \
  X(cuDeviceGet, cuDeviceGet, (CUdevice * device, int ordinal))                                  \
  X(cuDeviceGetName, cuDeviceGetName, (char* name, int length, CUdevice device))                 \
  X(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))                    \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute,                                                  \
    (int* value, CUdevice_attribute attribute, CUdevice device))                                 \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))  \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                  \
  X(cuCtxGetCurrent, cuCtxGetCurrent, (CUcontext * context))                                     \
  X(cuCtxGetDevice, cuCtxGetDevice, (CUdevice * device))                                         \
  X(cuCtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext context))                                  \
  X(cuCtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext * context))                                  \
  X(cuModuleLoadData, cuModuleLoadData, (CUmodule * module, const void* image))                  \
  X(cuModuleUnload, cuModuleUnload, (CUmodule module))                                           \
  X(cuModuleGetFunction, cuModuleGetFunction,                                                    \
    (CUfunction * function, CUmodule module, const char* name))                                  \
  X(cuFuncSetAttribute, cuFuncSetAttribute,                                                      \
    (CUfunction function, CUfunction_attribute attribute, int value))                            \
  X(cuLaunchKernel, cuLaunchKernel,                                                              \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,   \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** params,  \
     void** extra))                                                                              \
  X(cuStreamGetCtx, cuStreamGetCtx, (CUstream stream, CUcontext * context))                      \
  X(cuStreamIsCapturing, cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus * status)) \
  X(cuStreamSynchronize, cuStreamSynchronize, (CUstream stream))                                 \
  X(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr * memory, size_t bytes))                             \
  X(cuMemFree, cuMemFree_v2, (CUdeviceptr memory))                                               \
  X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                                     \
    (CUdeviceptr to, const void* from, size_t bytes, CUstream stream))                           \
  X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                                     \
    (void* to, CUdeviceptr from, size_t bytes, CUstream stream))                                 \
  X(cuMemsetD8Async, cuMemsetD8Async,                                                            \
    (CUdeviceptr memory, unsigned char value, size_t bytes, CUstream stream))                    \
  X(cuEventCreate, cuEventCreate, (CUevent * event, unsigned flags))                             \
  X(cuEventDestroy, cuEventDestroy_v2, (CUevent event))                                          \
  X(cuEventRecord, cuEventRecord, (CUevent event, CUstream stream))                              \
  X(cuEventSynchronize, cuEventSynchronize, (CUevent event))                                     \
  X(cuEventElapsedTime, cuEventElapsedTime, (float* milliseconds, CUevent begin, CUevent end))

// Null where the driver is older: context-independent loading and tensor maps came with 12.0,
// clusters with 11.8, pools with 11.2.
#define FFPA_CUDA_OPTIONAL(X)                                                                      \
  X(cuLibraryLoadData, cuLibraryLoadData,                                                          \
    (CUlibrary * library, const void* image, int* jit_options, void** jit_values,                  \
     unsigned num_jit_options, int* options, void** values, unsigned num_options))                 \
  X(cuLibraryUnload, cuLibraryUnload, (CUlibrary library))                                         \
  X(cuLibraryGetKernel, cuLibraryGetKernel,                                                        \
    (CUkernel * kernel, CUlibrary library, const char* name))                                      \
  X(cuKernelGetFunction, cuKernelGetFunction, (CUfunction * function, CUkernel kernel))            \
  X(cuKernelSetAttribute, cuKernelSetAttribute,                                                    \
    (CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device))                 \
  X(cuLaunchKernelEx, cuLaunchKernelEx,                                                            \
    (const CUlaunchConfig* config, CUfunction function, void** params, void** extra))              \
  X(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled,                                                \
    (void* map, int data_type, unsigned rank, void* address, const unsigned long long* sizes,      \
     const unsigned long long* strides, const unsigned* box, const unsigned* element_strides,      \
     int interleave, int swizzle, int l2_promotion, int out_of_bounds_fill))                       \
  X(cuMemAllocAsync, cuMemAllocAsync, (CUdeviceptr * memory, size_t bytes, CUstream stream))       \
  X(cuMemFreeAsync, cuMemFreeAsync, (CUdeviceptr memory, CUstream stream))                         \
  X(cuMemPoolCreate, cuMemPoolCreate, (CUmemoryPool * pool, const CUmemPoolProps* properties))     \
  X(cuMemPoolDestroy, cuMemPoolDestroy, (CUmemoryPool pool))                                       \
  X(cuMemPoolSetAttribute, cuMemPoolSetAttribute, (CUmemoryPool pool, int attribute, void* value)) \
  X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync,                                              \
    (CUdeviceptr * memory, size_t bytes, CUmemoryPool pool, CUstream stream))

class Driver {
 public:
  // The driver of this machine, loaded and initialised once; nullptr where there is none, and then
  // `reason` says why and what to install. A machine that gains a driver later is asked again.
  static std::shared_ptr<const Driver> system(std::string* reason);
  // The first of `names` that loads. Tests open a driver of their own.
  static std::shared_ptr<const Driver> open(const std::vector<std::string>& names,
                                            std::string* reason);

#define FFPA_CUDA_DECLARE(name, symbol, parameters) CUresult(*name) parameters = nullptr;
  FFPA_CUDA_REQUIRED(FFPA_CUDA_DECLARE)
  FFPA_CUDA_OPTIONAL(FFPA_CUDA_DECLARE)
#undef FFPA_CUDA_DECLARE

  // Throws Error (see driver_error.h) unless `result` is CUDA_SUCCESS; `call` is the driver
  // function, `doing` what it was called for.
  void check(CUresult result, std::string_view call, std::string_view doing) const {
    if (result != CUDA_SUCCESS) [[unlikely]]
      fail(result, call, doing);
  }
  // Kernels belong to no context: cuLibrary* is all there.
  bool has_libraries() const noexcept {
    return cuLibraryLoadData && cuLibraryUnload && cuLibraryGetKernel && cuKernelGetFunction &&
           cuKernelSetAttribute;
  }
  int version() const noexcept { return version_; }  // 13000 for CUDA 13.0

 private:
  explicit Driver(DynamicLibrary library) : library_(std::move(library)) {}
  [[noreturn]] void fail(CUresult result, std::string_view call, std::string_view doing) const;

  DynamicLibrary library_;
  int version_ = 0;
};

}  // namespace ffpa_jit::cuda
