#include "device/cuda/device_facts.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "device/cuda/cuda_target.h"

namespace ffpa_jit::cuda {

CUdevice device_at(const Driver& driver, int ordinal) {
  int count = 0;
  driver.check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount", "counting devices");
  if (ordinal < 0 || ordinal >= count) {
    throw_error(FFPA_JIT_NO_DEVICE,
                "CUDA device {} was asked for; the driver sees {} device{} (ordinals count from 0; "
                "CUDA_VISIBLE_DEVICES hides devices)",
                ordinal, count, count == 1 ? "" : "s");
  }
  CUdevice device = 0;
  driver.check(driver.cuDeviceGet(&device, ordinal), "cuDeviceGet",
               fmt::format("opening cuda:{}", ordinal));
  return device;
}

int attribute(const Driver& driver, CUdevice device, CUdevice_attribute attribute) {
  int value = 0;
  driver.check(driver.cuDeviceGetAttribute(&value, attribute, device), "cuDeviceGetAttribute",
               fmt::format("reading attribute {}", static_cast<int>(attribute)));
  return value;
}

int attribute_or(const Driver& driver, CUdevice device, CUdevice_attribute attribute,
                 int otherwise) noexcept {
  int value = 0;
  return driver.cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS ? value : otherwise;
}

DeviceInfo read_info(const Driver& driver, CUdevice device, int ordinal) {
  DeviceInfo info;
  std::array<char, 256> name{};
  driver.check(driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()), device),
               "cuDeviceGetName", fmt::format("reading the name of cuda:{}", ordinal));
  size_t memory_bytes = 0;
  driver.check(driver.cuDeviceTotalMem(&memory_bytes, device), "cuDeviceTotalMem",
               fmt::format("reading the memory size of cuda:{}", ordinal));

  const int major = attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  const int minor = attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  info.name = name.data();
  info.text = fmt::format("cuda:{}", ordinal);
  info.target = cuda_target(major, minor);
  info.multiprocessors = attribute(driver, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.shared_bytes_per_block =
      attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  info.memory_bytes = static_cast<int64_t>(memory_bytes);
  info.warp_size = attribute(driver, device, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  int version = 0;
  if (driver.cuDriverGetVersion(&version) == CUDA_SUCCESS) {
    info.driver_version = fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10);
  }

  // Tunings of one board serve all of its kind: no PCI id, no serial number, and the memory clock
  // as a class, since boards of one kind differ by a few MHz.
  const int memory_khz = attribute_or(driver, device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 0);
  info.identity =
      fmt::format("{}, capability {}.{}, {} multiprocessors, memory {} MHz", info.name, major,
                  minor, info.multiprocessors, (memory_khz + 50'000) / 100'000 * 100);
  return info;
}

}  // namespace ffpa_jit::cuda
