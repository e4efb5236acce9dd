#include "device/cuda/cuda_device.h"

#include <fmt/format.h>

#include "base/error.h"
#include "device/cuda/context_scope.h"
#include "device/cuda/cuda_kernel.h"
#include "device/cuda/cuda_target.h"
#include "device/cuda/device_facts.h"
#include "device/cuda/memory_pool.h"
#include "device/cuda/tensor_map_encoding.h"

namespace ffpa_jit {
namespace {

using namespace cuda;

CUdeviceptr address_of(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

class Event {
 public:
  explicit Event(const Driver& driver) : driver_(driver) {
    driver.check(driver.cuEventCreate(&event_, 0), "cuEventCreate", "timing a launch");
  }
  ~Event() { driver_.cuEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(CUstream stream) {
    driver_.check(driver_.cuEventRecord(event_, stream), "cuEventRecord", "timing a launch");
  }
  float wait_and_subtract(const Event& begin) {
    driver_.check(driver_.cuEventSynchronize(event_), "cuEventSynchronize",
                  "waiting for a timed launch");
    float milliseconds = 0;
    driver_.check(driver_.cuEventElapsedTime(&milliseconds, begin.event_, event_),
                  "cuEventElapsedTime", "timing a launch");
    return milliseconds;
  }

 private:
  const Driver& driver_;
  CUevent event_ = nullptr;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(int ordinal, std::shared_ptr<const Driver> driver)
      : driver_(std::move(driver)),
        device_(device_at(*driver_, ordinal)),
        info_(read_info(*driver_, device_, ordinal)),
        primary_(*driver_, device_),
        pool_(*driver_, device_,
              attribute_or(*driver_, device_, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0) != 0) {
  }

  const DeviceInfo& info() const override { return info_; }

  std::unique_ptr<LoadedKernel> load(const KernelBinary& binary) override {
    const ContextScope scope = enter(nullptr);
    pool_.prepare();
    return std::make_unique<CudaKernel>(driver_, device_, binary, scope.context());
  }

  void launch(const LoadedKernel& kernel, const LaunchGeometry& geometry,
              std::span<const std::byte> params, Stream stream) override {
    // An empty grid is no work here and an invalid value to the driver.
    if (geometry.grid.x == 0 || geometry.grid.y == 0 || geometry.grid.z == 0) return;
    const auto* loaded = dynamic_cast<const CudaKernel*>(&kernel);
    if (!loaded || loaded->device() != device_) {
      throw_error(FFPA_JIT_INTERNAL, "a kernel of another device was launched on {}", info_.text);
    }
    const ContextScope scope = enter(stream);
    CUfunction function = loaded->prepare(scope.context(), geometry);
    void* arguments[] = {const_cast<std::byte*>(params.data())};
    const auto doing = [&] {
      return fmt::format("launching {} on {}", loaded->entry(), info_.text);
    };

    if (geometry.cluster == Dim3{} && !(geometry.programmatic && driver_->cuLaunchKernelEx)) {
      const CUresult result = driver_->cuLaunchKernel(
          function, geometry.grid.x, geometry.grid.y, geometry.grid.z, geometry.block.x,
          geometry.block.y, geometry.block.z, geometry.dynamic_shared_bytes,
          static_cast<CUstream>(stream), arguments, nullptr);
      if (result != CUDA_SUCCESS) driver_->check(result, "cuLaunchKernel", doing());
      return;
    }
    if (!driver_->cuLaunchKernelEx) {
      throw_error(FFPA_JIT_DEVICE_ERROR,
                  "kernel {} launches in clusters, which this driver (CUDA {}.{}) cannot; update "
                  "it to CUDA 12 or "
                  "later",
                  loaded->entry(), driver_->version() / 1000, driver_->version() % 1000 / 10);
    }
    CUlaunchAttribute attributes[2] = {};
    unsigned count = 0;
    if (geometry.cluster != Dim3{}) {
      attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      attributes[count++].value.clusterDim = {geometry.cluster.x, geometry.cluster.y,
                                              geometry.cluster.z};
    }
    if (geometry.programmatic) {
      attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      attributes[count++].value.programmaticStreamSerializationAllowed = 1;
    }
    const CUlaunchConfig config = {geometry.grid.x,
                                   geometry.grid.y,
                                   geometry.grid.z,
                                   geometry.block.x,
                                   geometry.block.y,
                                   geometry.block.z,
                                   geometry.dynamic_shared_bytes,
                                   static_cast<CUstream>(stream),
                                   attributes,
                                   count};
    const CUresult result = driver_->cuLaunchKernelEx(&config, function, arguments, nullptr);
    if (result != CUDA_SUCCESS) driver_->check(result, "cuLaunchKernelEx", doing());
  }

  TensorMap encode_tensor_map(const TensorMapSpec& spec) override {
    const ContextScope scope = enter(nullptr);
    return cuda::encode_tensor_map(*driver_, spec);
  }

  bool is_capturing(Stream stream) override {
    const ContextScope scope = enter(stream);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = driver_->cuStreamIsCapturing(static_cast<CUstream>(stream), &status);
    // The default stream while another stream of the context captures: nothing may be loaded now.
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;
    driver_->check(result, "cuStreamIsCapturing", "asking whether the stream captures");
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
  }

  void* allocate(size_t bytes, Stream stream) override {
    if (bytes == 0) return nullptr;
    const ContextScope scope = enter(stream);
    CUdeviceptr memory = 0;
    const char* call = nullptr;
    const CUresult result = pool_.allocate(&memory, bytes, static_cast<CUstream>(stream), &call);
    if (result != CUDA_SUCCESS) {
      driver_->check(result, call, fmt::format("allocating {} bytes on {}", bytes, info_.text));
    }
    return reinterpret_cast<void*>(memory);
  }

  void release(void* memory, Stream stream) noexcept override {
    if (!memory) return;
    try {
      const ContextScope scope = enter(stream);
      pool_.release(address_of(memory), static_cast<CUstream>(stream));
    } catch (const Error&) {
      // The context is gone, and its memory with it.
    }
  }

  void copy_to_device(void* to, const void* from, size_t bytes, Stream stream) override {
    if (bytes == 0) return;
    const ContextScope scope = enter(stream);
    driver_->check(
        driver_->cuMemcpyHtoDAsync(address_of(to), from, bytes, static_cast<CUstream>(stream)),
        "cuMemcpyHtoDAsync", "copying to the device");
  }

  void copy_to_host(void* to, const void* from, size_t bytes, Stream stream) override {
    if (bytes == 0) return;
    const ContextScope scope = enter(stream);
    driver_->check(
        driver_->cuMemcpyDtoHAsync(to, address_of(from), bytes, static_cast<CUstream>(stream)),
        "cuMemcpyDtoHAsync", "copying to the host");
  }

  void fill(void* memory, uint8_t value, size_t bytes, Stream stream) override {
    if (bytes == 0) return;
    const ContextScope scope = enter(stream);
    driver_->check(
        driver_->cuMemsetD8Async(address_of(memory), value, bytes, static_cast<CUstream>(stream)),
        "cuMemsetD8Async", "filling device memory");
  }

  void synchronize(Stream stream) override {
    const ContextScope scope = enter(stream);
    driver_->check(driver_->cuStreamSynchronize(static_cast<CUstream>(stream)),
                   "cuStreamSynchronize", "waiting for the stream");
  }

  double time_ms(Stream stream, const std::function<void()>& work) override {
    const ContextScope scope = enter(stream);
    Event begin(*driver_);
    Event end(*driver_);
    begin.record(static_cast<CUstream>(stream));
    work();
    end.record(static_cast<CUstream>(stream));
    return end.wait_and_subtract(begin);
  }

 private:
  ContextScope enter(Stream stream) {
    return ContextScope(*driver_, device_, primary_, static_cast<CUstream>(stream));
  }

  std::shared_ptr<const Driver> driver_;
  CUdevice device_;
  DeviceInfo info_;
  PrimaryContext primary_;
  MemoryPool pool_;  // goes while the context is still there
};

}  // namespace

std::shared_ptr<Device> open_cuda_device(int ordinal) {
  std::string reason;
  auto driver = Driver::system(&reason);
  if (!driver) {
    throw_error(FFPA_JIT_NO_DEVICE, "CUDA device {} was asked for, but {}; without it, use the CPU",
                ordinal, reason);
  }
  return open_cuda_device(ordinal, std::move(driver));
}

std::shared_ptr<Device> open_cuda_device(int ordinal, std::shared_ptr<const Driver> driver) {
  return std::make_shared<CudaDevice>(ordinal, std::move(driver));
}

std::vector<DeviceInfo> list_cuda_devices(std::string* why_none) {
  auto driver = Driver::system(why_none);
  if (!driver) return {};
  return list_cuda_devices(driver, why_none);
}

std::vector<DeviceInfo> list_cuda_devices(const std::shared_ptr<const Driver>& driver,
                                          std::string* why_none) {
  std::vector<DeviceInfo> devices;
  std::string reasons;
  int count = 0;
  try {
    driver->check(driver->cuDeviceGetCount(&count), "cuDeviceGetCount", "counting devices");
    if (count == 0) reasons = "the driver sees no GPU; check nvidia-smi and CUDA_VISIBLE_DEVICES";
  } catch (const Error& error) {
    reasons = error.what();
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    try {
      devices.push_back(read_info(*driver, device_at(*driver, ordinal), ordinal));
    } catch (const Error& error) {
      if (!reasons.empty()) reasons += "; ";
      reasons += fmt::format("cuda:{}: {}", ordinal, error.what());
    }
  }
  if (why_none && devices.empty()) *why_none = reasons;
  return devices;
}

}  // namespace ffpa_jit
