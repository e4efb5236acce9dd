// DeviceSet: the devices a Runtime has opened, each once, on first use.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/log.h"
#include "device/device.h"
#include "device/emulator/options.h"
#include "runtime/attention_call.h"

namespace ffpa_jit {

class DeviceSet {
 public:
  // `cpu_level` caps the CPU's target; unset: all the processor has.
  DeviceSet(int num_threads, std::optional<Target> cpu_level, emulator::Options emulator = {});

  // Throws NO_DEVICE with what is missing, or UNSUPPORTED for a kind this build does not have.
  std::shared_ptr<Device> open(const DeviceRef& ref);

 private:
  int num_threads_;
  std::optional<Target> cpu_level_;
  emulator::Options emulator_;
  std::mutex mutex_;
  std::map<std::pair<TargetKind, int>, std::shared_ptr<Device>> open_;
};

}  // namespace ffpa_jit
