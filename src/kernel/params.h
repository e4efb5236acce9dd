// The host's view of the kernels' argument structs.
#pragma once

namespace ffpa_jit {
#include "common/params.h"
}  // namespace ffpa_jit
