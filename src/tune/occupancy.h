// Occupancy: how many blocks of a kernel a multiprocessor can hold, from its compiler's report.
// What the tuner prunes by.
#pragma once

#include <optional>
#include <string>

#include "tune/workbench.h"

namespace ffpa_jit {

// Warps resident on one multiprocessor; 0: no block fits. Unknown resources count as free.
int resident_warps(const BuiltStep& step, const DeviceInfo& device);

// Why `candidate` need not be launched, next to the default config's build; nullopt: it may be
// fast.
std::optional<std::string> prune_reason(const Built& candidate, const Built& usual,
                                        const DeviceInfo& device);

}  // namespace ffpa_jit
