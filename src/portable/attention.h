// The portable kernel: attention forward compiled into the library, for any processor and every
// problem: the answer where no generated kernel is cached and no compiler is installed. Called by
// the `portable` family (src/plan), run by the CPU device; it stands beside neither because a
// device knows nothing about attention and a plan computes nothing.
//
// Scores and sums in fp32, P kept in fp32; flash-style: one tile of queries against tiles of keys,
// no N x N memory.
#pragma once

#include <cstddef>
#include <functional>

#include "problem/problem.h"

namespace ffpa_jit::portable {

inline constexpr int kBlockM = 64;  // query rows per grid cell
inline constexpr int kBlockN = 64;  // keys per step: one bit each in a 64-bit word

// (ForwardParams*, query tile, query head, batch, scratch): the CPU kernel ABI, for one Problem.
using Kernel = std::function<void(const void*, unsigned, unsigned, unsigned, void*)>;

// Throws Error UNSUPPORTED for a dtype other than fp32, fp16, bf16.
Kernel attention_kernel(const Problem& problem);

// What `scratch` must hold.
size_t scratch_bytes(const Problem& problem);

}  // namespace ffpa_jit::portable
