// Which device a command means: one of this machine, or one that is not here, by its target and
// what --for says of it. Used by explain, source and warmup.
#pragma once

#include <string>

#include "device/device.h"
#include "ffpa-jit/session.h"
#include "runtime/attention_call.h"

namespace CLI {
class App;
}

namespace ffpa_jit::cli {

struct ChosenDevice {
  DeviceRef ref;  // what a call for it names
  DeviceInfo info;
};

// The device that a --target stands for. `description` is what --for says, or empty: a GPU by name
// (else the one here, else a typical one of the architecture; known_devices.h), a CPU as
// described_cpu() takes it (else this machine's, at the target's level). Throws Error
// INVALID_ARGUMENT, UNSUPPORTED.
ChosenDevice device_for_target(const ffpa::Runtime& runtime, const std::string& target,
                               const std::string& description);

// The flags --device, --target and --for.
class DeviceFlags {
 public:
  void add_to(CLI::App& command);
  ChosenDevice choose(const ffpa::Runtime& runtime) const;

 private:
  std::string device_ = "cpu";
  std::string target_, description_;
};

}  // namespace ffpa_jit::cli
