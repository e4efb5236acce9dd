// Kernels written in a test: rendered with the instruction wrappers of the target, compiled,
// loaded.
#pragma once

#include <memory>
#include <string>

#include "device/device.h"

namespace ffpa_jit::testing {

inline constexpr char kEntry[] = "test_kernel";

// `body` follows the includes of all of cuda/lib and defines kernel test_kernel with one parameter
// struct. wgmma is included with the n that the body names. Throws Error.
KernelBinary compile_kernel(const Target& target, const std::string& body);
std::unique_ptr<LoadedKernel> load_kernel(Device& device, const std::string& body);

}  // namespace ffpa_jit::testing
