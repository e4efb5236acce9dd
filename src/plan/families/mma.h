// The `mma` family: attention forward on the tensor cores of any GPU from sm_80 on, through
// mma.sync.
#pragma once

#include "plan/kernel_family.h"

namespace ffpa_jit {

const KernelFamily& mma_family();

}  // namespace ffpa_jit
