// TensorMapSpec to the driver's CUtensorMap.
#pragma once

#include "device/cuda/driver_api.h"
#include "device/tensor_map.h"

namespace ffpa_jit::cuda {

// Throws Error UNSUPPORTED where the driver is older than CUDA 12, INVALID_ARGUMENT for what the
// hardware cannot address.
TensorMap encode_tensor_map(const Driver& driver, const TensorMapSpec& spec);

}  // namespace ffpa_jit::cuda
