// What the driver says about one device.
#pragma once

#include "device/cuda/driver_api.h"
#include "device/device.h"

namespace ffpa_jit::cuda {

// Throws Error NO_DEVICE, naming how many there are.
CUdevice device_at(const Driver& driver, int ordinal);
int attribute(const Driver& driver, CUdevice device, CUdevice_attribute attribute);  // throws Error
int attribute_or(const Driver& driver, CUdevice device, CUdevice_attribute attribute,
                 int otherwise) noexcept;
// Throws Error UNSUPPORTED for a device that no target fits.
DeviceInfo read_info(const Driver& driver, CUdevice device, int ordinal);

}  // namespace ffpa_jit::cuda
