// A libcuda.so for tests: no device, but the calling thread's context stack, lifetimes and argument
// rules that the real one has. Built twice: with and without CUDA 12's cuLibrary functions
// (FAKE_DRIVER_OLD).
#include "device/cuda/fake_driver.h"

#include <cstring>

#include "device/cuda/driver_types.h"

using namespace ffpa_jit::cuda;
using ffpa_jit::testing::FakeDriver;

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

FakeDriver state;

// 0, or the failure to return.
int enter(const char* name) {
  state.calls.push_back(name);
  if (state.fail_at > 0 && --state.fail_at == 0) return state.fail_with;
  if (state.fail_call == name) return state.fail_with;
  return 0;
}

#define ENTER() \
  if (const int failure = enter(__func__)) return failure
#define NEED_CONTEXT() \
  if (state.contexts.empty()) return 201

uintptr_t number(const void* handle) { return reinterpret_cast<uintptr_t>(handle); }
template <typename Handle>
Handle handle(uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}
int device_of(uintptr_t context) {
  return static_cast<int>(context >= 100 ? context - 100 : context - 1);
}
// A stream works in its own context only.
bool foreign(CUstream stream) {
  return number(stream) > 2 && number(stream) / 1000 != state.contexts.back();
}

}  // namespace

FAKE FakeDriver* fake_driver() { return &state; }

FAKE CUresult cuInit(unsigned) {
  ENTER();
  return 0;
}
FAKE CUresult cuDriverGetVersion(int* version) {
  *version = 11080;
  return 0;
}
FAKE CUresult cuGetErrorName(CUresult, const char** name) {
  *name = "CUDA_ERROR_FAKE";
  return 0;
}
FAKE CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "a fake failure";
  return 0;
}
FAKE CUresult cuDeviceGetCount(int* count) {
  ENTER();
  *count = static_cast<int>(state.devices.size());
  return 0;
}
FAKE CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  ENTER();
  *device = ordinal;
  return 0;
}
FAKE CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  ENTER();
  std::strncpy(name, state.devices[device].name.c_str(), length - 1);
  return 0;
}
FAKE CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
  ENTER();
  *bytes = size_t{1} << 37;
  return 0;
}
FAKE CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  ENTER();
  const auto& d = state.devices[device];
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 32;
      return 0;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = d.multiprocessors;
      return 0;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      *value = d.memory_khz;
      return 0;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = d.major;
      return 0;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = d.minor;
      return 0;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = d.shared_bytes;
      return 0;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
      *value = d.pools;
      return 0;
  }
  return 1;
}
FAKE CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ENTER();
  ++state.primary_retained[device];
  *context = handle<CUcontext>(device + 1);
  return 0;
}
FAKE CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  ENTER();
  --state.primary_retained[device];
  return 0;
}
FAKE CUresult cuCtxGetCurrent(CUcontext* context) {
  ENTER();
  *context = handle<CUcontext>(state.contexts.empty() ? 0 : state.contexts.back());
  return 0;
}
FAKE CUresult cuCtxGetDevice(CUdevice* device) {
  ENTER();
  NEED_CONTEXT();
  *device = device_of(state.contexts.back());
  return 0;
}
FAKE CUresult cuCtxPushCurrent_v2(CUcontext context) {
  ENTER();
  state.contexts.push_back(number(context));
  return 0;
}
FAKE CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  ENTER();
  NEED_CONTEXT();
  *context = handle<CUcontext>(state.contexts.back());
  state.contexts.pop_back();
  return 0;
}
FAKE CUresult cuModuleLoadData(CUmodule* module, const void*) {
  ENTER();
  NEED_CONTEXT();
  ++state.live_modules;
  *module = handle<CUmodule>(1);
  return 0;
}
FAKE CUresult cuModuleUnload(CUmodule) {
  ENTER();
  NEED_CONTEXT();
  --state.live_modules;
  return 0;
}
FAKE CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char*) {
  ENTER();
  *function = handle<CUfunction>(3);
  return 0;
}
FAKE CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute attribute, int value) {
  ENTER();
  state.attributes.emplace_back(attribute, value);
  return 0;
}
FAKE CUresult cuLaunchKernel(CUfunction, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                             unsigned block_x, unsigned block_y, unsigned block_z,
                             unsigned shared_bytes, CUstream stream, void** params, void**) {
  ENTER();
  NEED_CONTEXT();
  if (foreign(stream)) return 400;
  state.launches.push_back({state.contexts.back(),
                            {grid_x, grid_y, grid_z},
                            {block_x, block_y, block_z},
                            {1, 1, 1},
                            shared_bytes,
                            number(stream),
                            std::string(static_cast<const char*>(params[0]), 8)});
  return 0;
}
FAKE CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  ENTER();
  *context = handle<CUcontext>(number(stream) / 1000);
  return 0;
}
FAKE CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  ENTER();
  NEED_CONTEXT();
  if (foreign(stream)) return 400;
  *status =
      number(stream) % 1000 == 1 ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return 0;
}
FAKE CUresult cuStreamSynchronize(CUstream) {
  ENTER();
  NEED_CONTEXT();
  return 0;
}
FAKE CUresult cuMemAlloc_v2(CUdeviceptr* memory, size_t bytes) {
  ENTER();
  NEED_CONTEXT();
  ++state.live_allocations;
  *memory = 0x1000 + bytes;
  return 0;
}
FAKE CUresult cuMemFree_v2(CUdeviceptr) {
  ENTER();
  --state.live_allocations;
  return 0;
}
FAKE CUresult cuMemAllocAsync(CUdeviceptr* memory, size_t bytes, CUstream) {
  ENTER();
  NEED_CONTEXT();
  ++state.live_allocations;
  *memory = 0x1000 + bytes;
  return 0;
}
FAKE CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  ENTER();
  if (properties->allocType != 1 || properties->location.type != 1) return 1;
  ++state.live_pools;
  *pool = reinterpret_cast<CUmemoryPool>(uintptr_t(properties->location.id + 1));
  return 0;
}
FAKE CUresult cuMemPoolDestroy(CUmemoryPool) {
  ENTER();
  --state.live_pools;
  return 0;
}
FAKE CUresult cuMemPoolSetAttribute(CUmemoryPool, int attribute, void* value) {
  ENTER();
  if (attribute == 4) state.kept_bytes = *static_cast<unsigned long long*>(value);
  return 0;
}
FAKE CUresult cuMemAllocFromPoolAsync(CUdeviceptr* memory, size_t bytes, CUmemoryPool pool,
                                      CUstream) {
  ENTER();
  NEED_CONTEXT();
  if (!pool) return 1;
  ++state.live_allocations;
  *memory = 0x1000 + bytes;
  return 0;
}
FAKE CUresult cuMemFreeAsync(CUdeviceptr, CUstream) {
  ENTER();
  --state.live_allocations;
  return 0;
}
FAKE CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void*, size_t, CUstream) {
  ENTER();
  NEED_CONTEXT();
  return 0;
}
FAKE CUresult cuMemcpyDtoHAsync_v2(void*, CUdeviceptr, size_t, CUstream) {
  ENTER();
  NEED_CONTEXT();
  return 0;
}
FAKE CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t, CUstream) {
  ENTER();
  NEED_CONTEXT();
  return 0;
}
FAKE CUresult cuEventCreate(CUevent* event, unsigned) {
  ENTER();
  ++state.live_events;
  *event = handle<CUevent>(5);
  return 0;
}
FAKE CUresult cuEventDestroy_v2(CUevent) {
  ENTER();
  --state.live_events;
  return 0;
}
FAKE CUresult cuEventRecord(CUevent, CUstream) {
  ENTER();
  return 0;
}
FAKE CUresult cuEventSynchronize(CUevent) {
  ENTER();
  return 0;
}
FAKE CUresult cuEventElapsedTime(float* milliseconds, CUevent, CUevent) {
  ENTER();
  *milliseconds = 1.5f;
  return 0;
}

#ifndef FAKE_DRIVER_OLD
FAKE CUresult cuLibraryLoadData(CUlibrary* library, const void*, int*, void**, unsigned, int*,
                                void**, unsigned) {
  ENTER();
  ++state.live_libraries;
  *library = handle<CUlibrary>(1);
  return 0;
}
FAKE CUresult cuLibraryUnload(CUlibrary) {
  ENTER();
  --state.live_libraries;
  return 0;
}
FAKE CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary, const char*) {
  ENTER();
  *kernel = handle<CUkernel>(2);
  return 0;
}
FAKE CUresult cuKernelGetFunction(CUfunction* function, CUkernel) {
  ENTER();
  NEED_CONTEXT();
  *function = handle<CUfunction>(3);
  return 0;
}
FAKE CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel, CUdevice) {
  ENTER();
  state.attributes.emplace_back(attribute, value);
  return 0;
}
FAKE CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction, void** params, void**) {
  ENTER();
  NEED_CONTEXT();
  if (foreign(config->hStream)) return 400;
  if (config->numAttrs != 1 || config->attrs->id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) return 1;
  const auto& cluster = config->attrs->value.clusterDim;
  state.launches.push_back({state.contexts.back(),
                            {config->gridDimX, config->gridDimY, config->gridDimZ},
                            {config->blockDimX, config->blockDimY, config->blockDimZ},
                            {cluster.x, cluster.y, cluster.z},
                            config->sharedMemBytes,
                            number(config->hStream),
                            std::string(static_cast<const char*>(params[0]), 8)});
  return 0;
}
#endif
