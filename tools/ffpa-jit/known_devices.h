// Facts of GPUs that are not in this machine, so that their kernels can be made ahead.
#pragma once

#include <string>

#include "device/device.h"

namespace ffpa_jit::cli {

// `name` as the driver reports it ("NVIDIA H200"), or a part of it that means one device; empty: a
// typical device of the architecture. Throws Error INVALID_ARGUMENT listing the known names, or
// when the device is of another architecture.
DeviceInfo known_cuda_device(const Target& target, const std::string& name);

// The target of a known device: "sm_90a".
std::string known_device_target(const std::string& name);

}  // namespace ffpa_jit::cli
