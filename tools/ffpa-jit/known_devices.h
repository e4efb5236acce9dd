// Facts of devices that are not in this machine, so that their kernels can be made ahead: what
// --for says of them. Throw Error INVALID_ARGUMENT that lists what is known or allowed.
#pragma once

#include <optional>
#include <string>

#include "device/device.h"

namespace ffpa_jit::cli {

// `name` as the driver reports it ("NVIDIA H200"), or a part of it that means one device; empty: a
// typical device of the architecture. An error when the device is of another architecture.
DeviceInfo known_cuda_device(const Target& target, const std::string& name);

// A CPU as `ffpa-jit devices` calls its identity, "AMD EPYC 9554 cpu:x86-64-v4 threads=64
// l2=1024K": the configs of CPU kernels depend on these three, and on nothing of the name, which
// may be left out. The level may come from `target` instead; an error when both say one, and
// not the same.
DeviceInfo described_cpu(const std::string& description, const std::optional<Target>& target);
bool describes_cpu(const std::string& description);

// The target of a described CPU or of a GPU by name: "cpu:x86-64-v4", "sm_90a".
std::string target_described_by(const std::string& description);

}  // namespace ffpa_jit::cli
