#include "device/cuda/cuda_kernel.h"

#include <fmt/format.h>

#include <memory>

#include "base/error.h"

namespace ffpa_jit::cuda {
namespace {

// Clusters of up to 8 blocks launch everywhere; larger ones are allowed kernel by kernel.
constexpr uint32_t kPortableCluster = 8;

bool has_large_cluster(const LaunchGeometry& geometry) {
  return geometry.cluster.x * geometry.cluster.y * geometry.cluster.z > kPortableCluster;
}

}  // namespace

CudaKernel::CudaKernel(std::shared_ptr<const Driver> driver, CUdevice device,
                       const KernelBinary& binary, CUcontext context)
    : driver_(std::move(driver)), device_(device), entry_(binary.entry) {
  if (binary.format != BinaryFormat::kCubin) {
    throw_error(
        FFPA_JIT_DEVICE_ERROR,
        "kernel {} is not a cubin, which is what a CUDA device loads; remove it from the cache so "
        "that it is compiled anew",
        entry_);
  }
  if (!driver_->has_libraries()) {
    image_ = binary.bytes;
    const std::lock_guard lock(mutex_);
    load_module(context);
    return;
  }
  const std::string doing = fmt::format("loading kernel {}", entry_);
  driver_->check(driver_->cuLibraryLoadData(&library_, binary.bytes.data(), nullptr, nullptr, 0,
                                            nullptr, nullptr, 0),
                 "cuLibraryLoadData", doing);
  CUresult result = driver_->cuLibraryGetKernel(&kernel_, library_, entry_.c_str());
  const char* call = "cuLibraryGetKernel";
  if (result == CUDA_SUCCESS) {
    // Under lazy loading (the default) this brings the code onto the device now, not in a capture.
    CUfunction function = nullptr;
    result = driver_->cuKernelGetFunction(&function, kernel_);
    call = "cuKernelGetFunction";
  }
  if (result == CUDA_SUCCESS) return;
  driver_->cuLibraryUnload(library_);  // the destructor does not run after a throw
  driver_->check(result, call, doing);
}

CudaKernel::~CudaKernel() {
  if (library_) driver_->cuLibraryUnload(library_);
  for (auto& [context, loaded] : modules_) {
    // The context may be gone, and its module with it: then entering it fails, and nothing is left
    // to do.
    CUcontext popped = nullptr;
    if (driver_->cuCtxPushCurrent(context) != CUDA_SUCCESS) continue;
    driver_->cuModuleUnload(loaded.module);
    driver_->cuCtxPopCurrent(&popped);
  }
}

CUfunction CudaKernel::prepare(CUcontext context, const LaunchGeometry& geometry) const {
  if (!kernel_) return prepare_module(context, geometry);

  if (geometry.dynamic_shared_bytes > dynamic_shared_bytes_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(mutex_);
    if (geometry.dynamic_shared_bytes > dynamic_shared_bytes_.load(std::memory_order_relaxed)) {
      driver_->check(driver_->cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                   static_cast<int>(geometry.dynamic_shared_bytes),
                                                   kernel_, device_),
                     "cuKernelSetAttribute",
                     fmt::format("asking for {} bytes of dynamic shared memory for kernel {}",
                                 geometry.dynamic_shared_bytes, entry_));
      dynamic_shared_bytes_.store(geometry.dynamic_shared_bytes, std::memory_order_release);
    }
  }
  if (has_large_cluster(geometry) && !large_cluster_.load(std::memory_order_acquire)) {
    driver_->check(driver_->cuKernelSetAttribute(
                       CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, kernel_, device_),
                   "cuKernelSetAttribute",
                   fmt::format("allowing a large cluster for kernel {}", entry_));
    large_cluster_.store(true, std::memory_order_release);
  }
  // cuLaunchKernel takes a CUkernel in a CUfunction's place.
  return reinterpret_cast<CUfunction>(kernel_);
}

CUfunction CudaKernel::prepare_module(CUcontext context, const LaunchGeometry& geometry) const {
  const std::lock_guard lock(mutex_);
  if (!modules_.contains(context)) load_module(context);
  Module& loaded = modules_.at(context);
  if (geometry.dynamic_shared_bytes > loaded.dynamic_shared_bytes) {
    driver_->check(driver_->cuFuncSetAttribute(loaded.function,
                                               CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                               static_cast<int>(geometry.dynamic_shared_bytes)),
                   "cuFuncSetAttribute",
                   fmt::format("asking for {} bytes of dynamic shared memory for kernel {}",
                               geometry.dynamic_shared_bytes, entry_));
    loaded.dynamic_shared_bytes = geometry.dynamic_shared_bytes;
  }
  if (has_large_cluster(geometry) && !loaded.large_cluster) {
    driver_->check(driver_->cuFuncSetAttribute(
                       loaded.function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                   "cuFuncSetAttribute",
                   fmt::format("allowing a large cluster for kernel {}", entry_));
    loaded.large_cluster = true;
  }
  return loaded.function;
}

void CudaKernel::load_module(CUcontext context) const {
  const std::string doing = fmt::format("loading kernel {}", entry_);
  Module loaded;
  driver_->check(driver_->cuModuleLoadData(&loaded.module, image_.data()), "cuModuleLoadData",
                 doing);
  const CUresult result =
      driver_->cuModuleGetFunction(&loaded.function, loaded.module, entry_.c_str());
  if (result != CUDA_SUCCESS) {
    driver_->cuModuleUnload(loaded.module);
    driver_->check(result, "cuModuleGetFunction", doing);
  }
  modules_.emplace(context, loaded);
}

}  // namespace ffpa_jit::cuda
