#include "device/cuda/memory_pool.h"

namespace ffpa_jit::cuda {

MemoryPool::MemoryPool(const Driver& driver, CUdevice device, bool supported)
    : driver_(driver),
      device_(device),
      ordered_(supported && driver.cuMemAllocAsync && driver.cuMemFreeAsync) {}

MemoryPool::~MemoryPool() {
  if (pool_) driver_.cuMemPoolDestroy(pool_);
}

void MemoryPool::create() noexcept {
  if (!driver_.cuMemPoolCreate || !driver_.cuMemPoolDestroy || !driver_.cuMemPoolSetAttribute ||
      !driver_.cuMemAllocFromPoolAsync) {
    return;
  }
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_};
  CUmemoryPool pool = nullptr;
  if (driver_.cuMemPoolCreate(&pool, &properties) != CUDA_SUCCESS) return;
  unsigned long long kept = kKeptBytes;
  if (driver_.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept) !=
      CUDA_SUCCESS) {
    driver_.cuMemPoolDestroy(pool);
    return;
  }
  pool_ = pool;
}

void MemoryPool::prepare() {
  if (ordered_) std::call_once(created_, [this] { create(); });
}

CUresult MemoryPool::allocate(CUdeviceptr* memory, size_t bytes, CUstream stream,
                              const char** call) {
  if (!ordered_) {
    *call = "cuMemAlloc";
    return driver_.cuMemAlloc(memory, bytes);
  }
  prepare();
  if (!pool_) {
    *call = "cuMemAllocAsync";
    return driver_.cuMemAllocAsync(memory, bytes, stream);
  }
  *call = "cuMemAllocFromPoolAsync";
  return driver_.cuMemAllocFromPoolAsync(memory, bytes, pool_, stream);
}

void MemoryPool::release(CUdeviceptr memory, CUstream stream) noexcept {
  if (ordered_) {
    driver_.cuMemFreeAsync(memory, stream);
  } else {
    driver_.cuMemFree(memory);
  }
}

}  // namespace ffpa_jit::cuda
