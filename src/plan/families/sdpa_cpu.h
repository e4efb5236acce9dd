// The `sdpa` family on CPUs: generated flash-style attention for every CPU level, every feature,
// any head dim.
#pragma once

#include "plan/kernel_family.h"

namespace ffpa_jit {

const KernelFamily& sdpa_cpu_family();

}  // namespace ffpa_jit
