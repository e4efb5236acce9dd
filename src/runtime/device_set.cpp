#include "runtime/device_set.h"

#include <utility>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "device/cuda/cuda_device.h"
#include "device/emulator/emulated_device.h"

namespace ffpa_jit {

DeviceSet::DeviceSet(int num_threads, std::optional<Target> cpu_level, emulator::Options emulator)
    : num_threads_(num_threads), cpu_level_(std::move(cpu_level)), emulator_(std::move(emulator)) {}

std::shared_ptr<Device> DeviceSet::open(const DeviceRef& ref) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<Device>& device = open_[{ref.kind, ref.index}];
  if (device) return device;
  switch (ref.kind) {
    case TargetKind::kCpu:
      return device = open_cpu_device(num_threads_, cpu_level_);
    case TargetKind::kCuda:
      return device = open_cuda_device(ref.index);
    case TargetKind::kEmulator:
      return device = open_emulated_cuda_device(ref.index, emulator_);
    case TargetKind::kHip:
      break;
  }
  throw_error(FFPA_JIT_UNSUPPORTED,
              "device kind {} is not part of this build; allowed: cpu, cuda, emulated cuda",
              static_cast<int>(ref.kind));
}

}  // namespace ffpa_jit
