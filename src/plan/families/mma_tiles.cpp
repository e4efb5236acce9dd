#include "plan/families/mma_tiles.h"

#include <algorithm>
#include <span>

#include "base/error.h"

namespace ffpa_jit::mma {
namespace {

constexpr int kMaxOutRegisters = 192;    // of a thread, for O
constexpr int kStateOutRegisters = 160;  // above, a thread's rows' state is kept in shared memory

}  // namespace

int divide_up(int64_t value, int64_t by) { return static_cast<int>((value + by - 1) / by); }
int round_up(int value, int to) { return divide_up(value, to) * to; }

// Shared memory that one block can have (CUDA C++ Programming Guide, "Compute Capabilities").
int64_t shared_limit(int capability) {
  struct Row {
    int capability, kib;
  };
  static constexpr Row kRows[] = {{80, 163}, {86, 99},   {87, 163},  {89, 99},
                                  {90, 227}, {100, 227}, {103, 227}, {110, 227}};
  for (const Row& row : kRows) {
    if (row.capability == capability) return int64_t{row.kib} << 10;
  }
  return int64_t{99} << 10;  // sm_12x, and what is not known
}

int columns_of_warp(const Problem& problem, int warps_n) {
  return divide_up(problem.head_dim_v, 16 * warps_n) * 16;
}

int out_registers(const Problem& problem, const WarpLayout& layout) {
  return layout.m_tiles * columns_of_warp(problem, layout.warps_n) / 2;
}

// 32 or 48 rows of a warp use an operand fragment of K and V two or three times; as few warps side
// by side as leave O in registers exchange least. {0, 0, 0}: no layout fits.
WarpLayout layout_of(const Problem& problem, const KernelConfig& config) {
  for (const bool single : {false, true}) {
    for (int warps_n = 1; warps_n <= config.num_warps; warps_n *= 2) {
      if (config.num_warps % warps_n != 0) break;
      const int warps_m = config.num_warps / warps_n;
      if (config.block_m % (16 * warps_m) != 0) continue;
      const int m_tiles = config.block_m / (16 * warps_m);
      if (single ? m_tiles != 1 : m_tiles < 2 || m_tiles > 3) continue;
      if (out_registers(problem, {warps_m, warps_n, m_tiles}) > kMaxOutRegisters) continue;
      if (config.block_n % (16 * warps_n) != 0) continue;
      return {warps_m, warps_n, m_tiles};
    }
  }
  return {};
}

// Bytes of `units` 16-byte units and the gap to the next row: as in cuda/mma_shared.cuh.
int64_t pitch(int units) { return (units | 1) * 16; }

int64_t v_row_bytes(const Problem& problem, const WarpLayout& layout) {
  return pitch(layout.warps_n * columns_of_warp(problem, layout.warps_n) / 8);
}

// Keys of a V chunk: the whole tile where P stays in registers, else as many as a K chunk's slot
// has room for.
int chunk_n(const Problem& problem, const KernelConfig& config, const WarpLayout& layout) {
  int keys = config.block_n;
  if (layout.warps_n == 1) return keys;
  const int64_t slot = config.block_n * pitch(config.block_d / 8);
  while (keys % 32 == 0 && keys * v_row_bytes(problem, layout) > slot) keys /= 2;
  return keys;
}

int64_t shared_bytes(const Problem& problem, const KernelConfig& config, const WarpLayout& layout) {
  const int q_units = divide_up(problem.head_dim, config.block_d) * config.block_d / 8;
  const int64_t k_slot = config.block_n * pitch(config.block_d / 8);
  const int64_t v_slot = chunk_n(problem, config, layout) * v_row_bytes(problem, layout);
  int64_t bytes = config.block_m * pitch(q_units) + config.num_stages * std::max(k_slot, v_slot);
  if (layout.warps_n > 1) bytes += config.block_m * pitch(config.block_n / 8);
  if (layout.warps_n > 4) bytes += config.block_m * 4 * layout.warps_n;
  if (out_registers(problem, layout) > kStateOutRegisters) {
    bytes += 4 * sizeof(float) * layout.m_tiles * config.num_warps * kWarpSize;
  }
  return bytes;
}

int block_d_at_most(const Problem& problem, int limit) {
  return round_up(divide_up(problem.head_dim, divide_up(problem.head_dim, limit)), 16);
}

bool fits(const Problem& problem, const KernelConfig& config, int capability) {
  const WarpLayout layout = layout_of(problem, config);
  return layout.warps_m > 0 && shared_bytes(problem, config, layout) <= shared_limit(capability);
}

bool windowed(const Problem& problem) {
  return problem.causal || problem.window_left || problem.window_right;
}

// What takes registers beside O and S, roughly counted.
int modifications(const Problem& problem) {
  return problem.has_mask + problem.has_bias + problem.dropout + problem.softcap +
         problem.window_left + (problem.layout == Layout::kVarlen) +
         2 * !problem.score_modifier.empty() + (problem.page_size != 0) + problem.fp16_accumulate;
}

// Whether O and S leave a thread fewer registers than the problem's masks and dropout need.
// `packed`: heads are rows of one tile, which takes some too.
// Code for sm_8x takes a few more registers.
bool is_tight(const Problem& problem, const KernelConfig& config, int capability, bool packed) {
  const WarpLayout layout = layout_of(problem, config);
  if (layout.warps_m == 0) return false;
  const int held = layout.m_tiles *
                   (columns_of_warp(problem, layout.warps_n) + config.block_n / layout.warps_n) / 2;
  const int modified = modifications(problem) + (packed && config.block_m > 16);
  if (modified > 0 && config.block_n > 128) return true;
  if (modified > 1) return held > (layout.warps_n > 1 ? 144 : 164);
  const bool before_hopper = capability < 90;
  if (before_hopper && problem.has_bias && held >= 128 && config.block_n > 32) return true;
  return (held > (before_hopper ? 150 : 164) && modified > 0) ||
         (held > (before_hopper ? 164 : 184) && windowed(problem) && layout.warps_n > 1);
}

// Measured on an H200; smaller where shared memory is. num_warps 0 where nothing fits.
KernelConfig tile_config(const Problem& problem, int capability, int max_rows, bool packed) {
  struct Row {
    int max_columns, block_m, num_warps, block_n, block_d, num_stages;
    // Whether registers are left for masks and the like, and for windows.
    bool for_modified = true, for_windowed = true;
  };
  // Past 768 columns, what L2 delivers is the limit: the more rows use it the better.
  static constexpr Row kRows[] = {
      {64, 128, 4, 64, 64, 3},          {128, 128, 4, 64, 128, 3},
      {256, 64, 4, 64, 256, 2},         {320, 96, 8, 128, 160, 3},
      {512, 64, 8, 256, 64, 3},         {640, 64, 8, 128, 128, 3},
      {768, 48, 8, 128, 128, 3, false}, {1024, 48, 8, 128, 64, 3, false, false},
      {1024, 32, 8, 256, 64, 3},
  };
  // One block a multiprocessor, with as much of K and V on its way as shared memory holds.
  static constexpr Row kFewRows[] = {{64, 16, 8, 256, 64, 5}, {1024, 16, 8, 128, 128, 5}};
  static constexpr Row kFewRowsSmall[] = {{64, 16, 4, 128, 64, 4}, {1024, 16, 4, 64, 128, 4}};
  const bool few = max_rows <= 16;
  const bool small = shared_limit(capability) < int64_t{128} << 10;
  const std::span<const Row> rows = !few    ? std::span<const Row>(kRows)
                                    : small ? std::span<const Row>(kFewRowsSmall)
                                            : std::span<const Row>(kFewRows);
  const bool modified = packed || modifications(problem) > 0;
  const bool large = shared_limit(capability) > int64_t{200} << 10;
  const Row& row = *std::find_if(rows.begin(), rows.end() - 1, [&](const Row& row) {
    return problem.head_dim_v <= row.max_columns && (row.for_modified || !modified) &&
           (row.for_windowed || (large && !windowed(problem)));
  });
  KernelConfig config;
  config.block_m = row.block_m;
  config.block_n = row.block_n;
  config.block_d = block_d_at_most(problem, row.block_d);
  config.num_stages = row.num_stages;
  config.num_warps = row.num_warps;
  const auto halve_block_n = [&] {
    KernelConfig half = config;
    half.block_n /= 2;
    if (half.block_n < 16 || layout_of(problem, half).warps_m == 0) return false;
    config = half;
    return true;
  };
  const auto leave_registers = [&] {
    while (is_tight(problem, config, capability, packed) && halve_block_n()) {
      if (row.block_n == 256) {  // as wide chunks as the ring's slots now have room for
        config.block_d = block_d_at_most(problem, 2 * row.block_d);
        config.num_stages = 4;
      }
    }
  };
  leave_registers();
  while (!fits(problem, config, capability)) {
    if (config.num_stages > 2) {
      --config.num_stages;
    } else if (config.block_d > 64) {
      config.block_d = block_d_at_most(problem, config.block_d - 16);
    } else if (halve_block_n()) {
      continue;
    } else if (config.block_m > 16 || config.num_warps > 4) {
      if (config.block_m > 16) {
        config.block_m = config.block_m > 32 ? config.block_m / 32 * 16 : 16;
      } else {
        config.num_warps /= 2;
      }
      config.block_n = row.block_n;
      config.block_d = block_d_at_most(problem, row.block_d);
      config.num_stages = row.num_stages;
      leave_registers();
    } else {
      return {};
    }
  }
  return config;
}

// How many blocks' registers must fit a multiprocessor.
int blocks_per_multiprocessor(const Problem& problem, const KernelConfig& config,
                              const WarpLayout& layout) {
  const int warps = config.num_warps;
  const int held = layout.m_tiles *
                   (columns_of_warp(problem, layout.warps_n) + config.block_n / layout.warps_n) / 2;
  const int registers = held <= 48 ? 128 : 255;
  return std::max(1, 65536 / (registers * kWarpSize * warps));
}

void check_config(const Problem& problem, const KernelConfig& config, int capability) {
  const auto refuse = [&](std::string_view rule) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "family mma cannot build config '{}' for '{}': {}; leave the config out to take "
                "the default",
                text_of(config), text_of(problem), rule);
  };
  if (config.num_warps < 1 || config.num_warps > 16 ||
      (config.num_warps & (config.num_warps - 1)) != 0) {
    refuse("num_warps is 1, 2, 4, 8 or 16");
  }
  if (config.block_n < 16 || config.block_n > 256 || (config.block_n & (config.block_n - 1)) != 0) {
    refuse("block_n is 16, 32, 64, 128 or 256");
  }
  if (config.block_m < 16 || config.block_m > 256 || config.block_m % 16 != 0) {
    refuse("block_m is a multiple of 16 from 16 to 256");
  }
  if (config.block_d < 16 || config.block_d > 256 || config.block_d % 16 != 0) {
    refuse("block_d is a multiple of 16 from 16 to 256");
  }
  if (config.num_stages < 2 || config.num_stages > 8) refuse("num_stages is 2 to 8");
  if (config.cluster != 0) refuse("it has no cluster");
  if (config.split_kv < 0 || config.split_kv > kMaxSplits)
    refuse(fmt::format("split_kv is at most {}", kMaxSplits));
  const WarpLayout layout = layout_of(problem, config);
  if (layout.warps_m == 0) {
    refuse(
        "its warps cannot share a tile with 16, 32 or 48 rows and at most 192 registers of O in "
        "each");
  }
  const int threads = config.num_warps * kWarpSize;
  if (layout.warps_n * columns_of_warp(problem, layout.warps_n) / 8 > threads) {
    refuse("a row of V has more 16-byte units than the block has threads: take more warps");
  }
  const int64_t bytes = shared_bytes(problem, config, layout);
  if (bytes > shared_limit(capability)) {
    refuse(fmt::format("its tiles take {} bytes of shared memory, a block of sm_{} has {}", bytes,
                       capability, shared_limit(capability)));
  }
}

}  // namespace ffpa_jit::mma
