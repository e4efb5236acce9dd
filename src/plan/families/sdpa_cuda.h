// The `sdpa` family on CUDA: exact attention on any GPU from sm_75 on, every feature, any head dim.
#pragma once

#include "plan/kernel_family.h"

namespace ffpa_jit {

const KernelFamily& sdpa_cuda_family();

}  // namespace ffpa_jit
