// The `wgmma` family: attention forward on Hopper's warpgroup tensor cores (sm_90a), loads by TMA.
#pragma once

#include "plan/kernel_family.h"

namespace ffpa_jit {

const KernelFamily& wgmma_family();

}  // namespace ffpa_jit
