// What a driver failure means to a user: status, words, remedy.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "device/cuda/driver_api.h"

namespace ffpa_jit::cuda {

ffpa_jit_status status_of_failure(CUresult result);

// "cuLaunchKernel failed launching ffpa_sdpa_forward: CUDA_ERROR_... (700): an illegal ...; <what
// to do>"
std::string describe_failure(const Driver& driver, CUresult result, std::string_view call,
                             std::string_view doing);

// The context is lost: every later call in it fails with the same error.
bool is_sticky(CUresult result);

}  // namespace ffpa_jit::cuda
