// Which target to build for, given a device's compute capability.
#pragma once

#include "problem/target.h"

namespace ffpa_jit {

// (9, 0) -> sm_90a: the architecture-specific target where there is one. A minor version that this
// library does not know takes the nearest older target of its major version, without the suffix
// (machine code runs on later minors). Throws Error UNSUPPORTED for older than 7.5 and for an
// unknown major version.
Target cuda_target(int major, int minor);

}  // namespace ffpa_jit
