// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
// section 4.3) and the dropout decision made from it. The plain statement of the rule: kernels
// carry their own code, tests compare.
#pragma once

#include <array>
#include <cstdint>

namespace ffpa_jit::reference {

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// The number in (0, 1] that decides about logical element `index` of the [B, Hq, Nq, Nk]
// probabilities, `offset` already added. Kept iff it is greater than p, both as float.
float dropout_uniform(uint64_t seed, uint64_t index);

}  // namespace ffpa_jit::reference
