// How the `mma` family lays a tile out: warps over rows and columns, chunks of K and V, bytes of
// shared memory, and the default config of a problem. Everything here is arithmetic on a config;
// src/plan/families/mma.cpp makes plans of it.
#pragma once

#include <cstdint>

#include "kernel/kernel_config.h"
#include "problem/problem.h"

namespace ffpa_jit::mma {

inline constexpr int kMaxHeadDim = 1024;
inline constexpr int kWarpSize = 32;
inline constexpr int kMaxSplits = 128;

int divide_up(int64_t value, int64_t by);
int round_up(int value, int to);

// Shared memory that one block can have, in bytes.
int64_t shared_limit(int capability);

// Warps on a tile: warps_m row groups of m_tiles x 16 rows, each shared by warps_n warps side by
// side along the keys of S and the columns of O. warps_m 0: no layout fits.
struct WarpLayout {
  int warps_m = 0, warps_n = 0, m_tiles = 0;
};
WarpLayout layout_of(const Problem& problem, const KernelConfig& config);
int columns_of_warp(const Problem& problem, int warps_n);  // of O
int chunk_n(const Problem& problem, const KernelConfig& config,
            const WarpLayout& layout);  // keys of a V chunk
int64_t shared_bytes(const Problem& problem, const KernelConfig& config, const WarpLayout& layout);
// How many blocks' registers must fit a multiprocessor.
int blocks_per_multiprocessor(const Problem& problem, const KernelConfig& config,
                              const WarpLayout& layout);
// Whether O and S leave a thread fewer registers than the problem's masks and dropout need.
// `packed`: heads are rows of one tile, which takes some too.
bool is_tight(const Problem& problem, const KernelConfig& config, int capability, bool packed);
// The config for tiles of up to `max_rows` rows; num_warps 0 where nothing fits.
KernelConfig tile_config(const Problem& problem, int capability, int max_rows, bool packed = false);
// Throws Error INVALID_ARGUMENT naming the rule that `config` breaks.
void check_config(const Problem& problem, const KernelConfig& config, int capability);

}  // namespace ffpa_jit::mma
