// How the rows schedule of the `wgmma` family lays a tile out: rows and keys, slots of shared
// memory, registers, and the config that a problem's head dims take. Arithmetic on a config;
// src/plan/families/wgmma_rows.cpp makes plans of it, and chooses by the shape.
//
// A config's numbers: block_m, 64 rows for each consumer warpgroup; block_n keys a tile; num_stages
// slots for K, and as many for V as shared memory then has room for; num_warps, four for each
// consumer and four more.
#pragma once

#include <cstdint>

#include "kernel/kernel_config.h"
#include "problem/problem.h"

namespace ffpa_jit::rows {

inline constexpr int kLargestHeadDim = 352;
// Up to here O leaves registers for any feature; past it, for those that need few.
inline constexpr int kMaxHeadDimOfAll = 256;
inline constexpr int kMinKeys = 32;  // of a tile
inline constexpr int kMostParts = 8;
inline constexpr int kKeptStages = 8;  // tiles whose dropout is decided at a time

int64_t divide_up(int64_t value, int64_t by);
int consumers_of(const KernelConfig& config);

bool has_marks(const Problem& problem);
// What needs registers beside S, P and O.
bool has_modifiers(const Problem& problem);
// Whether O leaves by way of shared memory, where there is room for it beside the slots.
bool is_staged(const Problem& problem);
// Whether tiles run from the longest to the shortest.
bool are_tiles_sorted(const Problem& problem);
// Whether all tiles take as long.
bool are_tiles_even(const Problem& problem);
// Query heads of a kv head whose rows are in one tile. What differs from head to head in memory, as
// masks do, is read by the rows of a single head.
int heads_packed(const Problem& problem);
// Tiles of a shape.
int64_t tiles_of(const Problem& problem, const KernelConfig& config, const Shape& shape);

// A tile of a mask or a bias as cuda/wgmma_rows_marks.cuh has it in a slot: boxes of so many keys.
struct MarkBoxes {
  int keys, count;
};
MarkBoxes mark_boxes(const KernelConfig& config, bool by_row, DType dtype);
// Of a slot of all consumers.
int64_t mark_bytes(const Problem& problem, const KernelConfig& config);

// Slots of shared memory: for V, and for each consumer's part of masks and biases.
struct Slots {
  int v, marks;
};
// As many as fit, of V first; none of V when not even one of each fits.
Slots slots_of(const Problem& problem, const KernelConfig& config);
int64_t shared_bytes(const Problem& problem, const KernelConfig& config, const Slots& slots);

// Registers that a consumer's threads hold at most: S, P, O, and what is found out about S ahead.
int held_registers(const Problem& problem, const KernelConfig& config);
// So many leave room for addresses, row sums and the like without spills: found by compiling.
int most_held(int consumers);
// Registers of a thread: 64 K are shared by a block's 128 (consumers + 1) threads. The more a
// problem asks for, the more the thread that loads has to know of a tile.
struct Registers {
  int producer, consumer;
};
Registers registers_of(const Problem& problem, const KernelConfig& config);

// `config` with tiles of `block_m` rows and at most `block_n` keys.
KernelConfig with_rows(const Problem& problem, KernelConfig config, int block_m, int block_n);
// The config by head dims and features, before the shape is looked at. Measured on an H200.
KernelConfig tile_config(const Problem& problem);
// Throws Error INVALID_ARGUMENT naming the rule that `config` breaks.
void check_config(const Problem& problem, const KernelConfig& config);

}  // namespace ffpa_jit::rows
