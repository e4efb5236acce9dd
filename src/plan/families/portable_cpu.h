// The `portable` family: the kernel compiled into the library (src/portable), for every problem on
// any CPU. Serves when named, and when `sdpa` is neither cached nor compilable; slower than
// anything generated.
#pragma once

#include "plan/kernel_family.h"

namespace ffpa_jit {

const KernelFamily& portable_cpu_family();

}  // namespace ffpa_jit
