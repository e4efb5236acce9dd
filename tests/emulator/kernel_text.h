// Kernels written in a test: rendered with the instruction wrappers of the target, compiled,
// loaded.
#pragma once

#include <memory>
#include <string>

#include "device/device.h"

namespace ffpa_jit::testing {

inline constexpr char kEntry[] = "test_kernel";

// `body` follows the includes of all of cuda/lib and defines kernel test_kernel with one parameter
// struct. Throws Error.
std::unique_ptr<LoadedKernel> load_kernel(Device& device, const std::string& body);

}  // namespace ffpa_jit::testing
