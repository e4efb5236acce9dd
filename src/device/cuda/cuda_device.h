// CUDA devices through the driver API. Used by the runtime and the tools.
//
// A call works in the caller's current context when that is one of the device, else in the stream's
// or the primary context, and leaves the caller's state as it was. Nothing synchronises but
// synchronize() and time_ms().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/cuda/driver_api.h"
#include "device/device.h"

namespace ffpa_jit {

// Throws Error NO_DEVICE when there is no driver or no such device, UNSUPPORTED when the device is
// too old or too new. Creates no context.
std::shared_ptr<Device> open_cuda_device(int ordinal);
std::shared_ptr<Device> open_cuda_device(int ordinal, std::shared_ptr<const cuda::Driver> driver);

// Every device that open_cuda_device would open. When none, `why_none` (optional) says why and what
// to do.
std::vector<DeviceInfo> list_cuda_devices(std::string* why_none);
std::vector<DeviceInfo> list_cuda_devices(const std::shared_ptr<const cuda::Driver>& driver,
                                          std::string* why_none);

}  // namespace ffpa_jit
