#include "plan/families/wgmma_rows_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "base/error.h"

namespace ffpa_jit::rows {
namespace {

constexpr int64_t kSharedBytes = 232448;  // of a block
constexpr int kMaxStages = 4;
constexpr int kItemsBytes = 2 * 128;  // what a block's warps tell each other of two items
constexpr int kMaxMarkStages = 2;

// Rows of a tile are stored in blocks of 64 columns, 128 bytes each.
int64_t row_bytes(int head_dim) { return divide_up(head_dim, 64) * 128; }

bool is_plain(const Problem& problem) {
  return !problem.seqlens_k && !problem.dropout && !has_marks(problem) &&
         problem.layout != Layout::kVarlen;
}

int num_features(const Problem& problem) {
  return problem.has_bias + problem.has_mask + problem.dropout + problem.softcap +
         problem.window_left + (problem.layout == Layout::kVarlen) + problem.seqlens_k +
         !problem.score_modifier.empty();
}

}  // namespace

int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

int consumers_of(const KernelConfig& config) { return config.block_m / 64; }

bool has_marks(const Problem& problem) { return problem.has_mask || problem.has_bias; }

MarkBoxes mark_boxes(const KernelConfig& config, bool by_row, DType dtype) {
  const auto bytes = static_cast<int>(bytes_of(dtype));
  const int row = config.block_n * bytes;
  if (by_row && (row % 128 == 0 || row == 64 || row == 32)) {
    const int width = row % 128 == 0 ? 128 : row;
    return {width / bytes, row / width};
  }
  const int unit = bytes == 4 ? 32 : 16;
  return {(!by_row || row / unit % 2 != 0 ? row : row + unit) / bytes, 1};
}

int64_t mark_bytes(const Problem& problem, const KernelConfig& config) {
  const auto of_consumer = [&](bool by_row, DType dtype) {
    const MarkBoxes boxes = mark_boxes(config, by_row, dtype);
    const int64_t row = boxes.count * boxes.keys * static_cast<int64_t>(bytes_of(dtype));
    return divide_up(by_row ? 64 * row : row, 1024) * 1024;
  };
  int64_t bytes = 0;
  if (problem.has_mask) bytes += of_consumer(problem.mask_pattern.query, DType::kBool);
  if (problem.has_bias) bytes += of_consumer(problem.bias_pattern.query, problem.bias_dtype);
  return bytes * consumers_of(config);
}

bool is_staged(const Problem& problem) {
  return std::max(problem.head_dim, problem.head_dim_v) <= 128 && !has_marks(problem) &&
         !problem.dropout;
}

bool are_tiles_sorted(const Problem& problem) {
  return (problem.causal || problem.window_right) && is_plain(problem);
}

bool are_tiles_even(const Problem& problem) {
  return !problem.causal && !problem.window_left && !problem.window_right && is_plain(problem);
}

int64_t shared_bytes(const Problem& problem, const KernelConfig& config, const Slots& slots) {
  const int kept_stages = problem.dropout ? kKeptStages : 0;
  const int64_t barriers =
      2 * (consumers_of(config) * (1 + slots.marks) + config.num_stages + slots.v + 2) + 1;
  // What dropout keeps starts at a multiple of 16 bytes, 32 keys of a row in a word.
  const int64_t kept =
      kept_stages > 0 ? 16 + kept_stages * config.block_m * divide_up(config.block_n, 32) * 4 : 0;
  return config.block_m * row_bytes(problem.head_dim) +
         config.num_stages * config.block_n * row_bytes(problem.head_dim) +
         slots.v * config.block_n * row_bytes(problem.head_dim_v) +
         slots.marks * mark_bytes(problem, config) +
         (is_staged(problem) ? config.block_m * ((problem.head_dim_v + 15) / 16 * 32 + 16) : 0) +
         8 * barriers + kItemsBytes + kept;
}

Slots slots_of(const Problem& problem, const KernelConfig& config) {
  const int most = has_marks(problem) ? kMaxMarkStages : 0;
  const int least = has_marks(problem) ? 1 : 0;
  for (int v = config.num_stages; v > 0; --v) {
    for (int marks = most; marks >= least; --marks) {
      if (shared_bytes(problem, config, {v, marks}) <= kSharedBytes) return {v, marks};
    }
  }
  return {0, least};
}

bool has_modifiers(const Problem& problem) {
  return problem.dropout || problem.softcap || !problem.score_modifier.empty();
}

int heads_packed(const Problem& problem) {
  const bool by_head =
      problem.has_mask || problem.has_bias || problem.dropout || !problem.score_modifier.empty();
  return by_head ? 1 : std::gcd(problem.gqa_group, 64);
}

int64_t tiles_of(const Problem& problem, const KernelConfig& config, const Shape& shape) {
  const int packed = heads_packed(problem);
  return divide_up(shape.seqlen_q, config.block_m / packed) * shape.batch *
         (shape.heads_q / packed);
}

int held_registers(const Problem& problem, const KernelConfig& config) {
  int held = config.block_n / 2 + config.block_n / 4 + problem.head_dim_v / 2;
  if (has_marks(problem)) held += config.block_m == 192 ? 12 : 8;  // see registers_of()
  if (has_marks(problem) && problem.window_left) held += 8;
  if (has_marks(problem) && problem.dropout) held += 8;
  if (problem.dropout) held += (problem.head_dim_v > 256 ? 26 : 16) + config.block_n / 16;
  if (!problem.score_modifier.empty()) held += 16;
  if (num_features(problem) > 3) held += 12;
  return held;
}

Registers registers_of(const Problem& problem, const KernelConfig& config) {
  const int consumers = consumers_of(config);
  const bool many = num_features(problem) > 3;
  // Threads that load masks and biases.
  if (has_marks(problem) && consumers == 3) return {56, 152};
  if (has_marks(problem)) return many ? Registers{56, 224} : Registers{40, 232};
  if (consumers == 3) return {32, 160};
  // Sorted tiles, too, are more to compute for the thread that loads.
  const int most_of_232 = are_tiles_sorted(problem) ? 200 : 190;
  if (many || problem.dropout || held_registers(problem, config) <= most_of_232) return {40, 232};
  return {24, 240};
}

int most_held(int consumers) { return consumers == 3 ? 136 : 209; }

KernelConfig with_rows(const Problem& problem, KernelConfig config, int block_m, int block_n) {
  config.block_m = block_m;
  config.block_n = block_n;
  config.num_warps = 4 * (consumers_of(config) + 1);
  // A modifier is code for every score of a tile: fewer keep the kernel short.
  if (!problem.score_modifier.empty()) config.block_n = std::min(config.block_n, 64);
  while (config.block_n > kMinKeys &&
         held_registers(problem, config) > most_held(consumers_of(config))) {
    config.block_n -= 16;
  }
  const auto lacks_slots = [&] {
    const int v = slots_of(problem, config).v;
    return v == 0 || (has_marks(problem) && v < std::min(config.num_stages, 2));
  };
  while (lacks_slots() && config.num_stages > 1) --config.num_stages;
  return config;
}

KernelConfig tile_config(const Problem& problem) {
  struct Row {
    int max_columns, block_m, block_n, num_stages;
  };
  static constexpr Row kPlain[] = {{64, 192, 128, 3},  {128, 192, 80, 3},
                                   {192, 128, 112, 2}, {256, 128, 64, 3},
                                   {320, 128, 48, 2},  {kLargestHeadDim, 128, 32, 3}};
  static constexpr Row kWindowed[] = {{64, 192, 128, 3},  {128, 192, 80, 3},
                                      {192, 128, 112, 2}, {256, 128, 80, 2},
                                      {320, 128, 48, 2},  {kLargestHeadDim, 128, 32, 3}};
  static constexpr Row kModified[] = {{64, 128, 128, 3}, {128, 128, 128, 3},
                                      {192, 128, 96, 2}, {256, 128, 64, 2},
                                      {320, 128, 48, 2}, {kLargestHeadDim, 128, 32, 3}};
  static constexpr Row kMarked[] = {{64, 192, 128, 3}, {128, 192, 80, 3},
                                    {192, 128, 80, 2}, {256, 128, 64, 2},
                                    {320, 128, 48, 2}, {kLargestHeadDim, 128, 32, 3}};
  const bool windowed = problem.causal || problem.window_left || problem.window_right;
  const auto& rows = has_modifiers(problem) ? kModified
                     : has_marks(problem)   ? kMarked
                     : windowed             ? kWindowed
                                            : kPlain;
  const int columns = std::max(problem.head_dim, problem.head_dim_v);
  const Row& row = *std::find_if(std::begin(rows), std::end(rows) - 1,
                                 [&](const Row& row) { return columns <= row.max_columns; });
  KernelConfig config;
  config.num_stages = row.num_stages;
  return with_rows(problem, config, row.block_m, row.block_n);
}

void check_config(const Problem& problem, const KernelConfig& config) {
  const auto refuse = [&](std::string_view rule) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "family wgmma cannot build config '{}' for '{}': {}; leave the config out to take "
                "the default",
                text_of(config), text_of(problem), rule);
  };
  if (config.block_m != 64 && config.block_m != 128 && config.block_m != 192) {
    refuse("block_m is 64, 128 or 192");
  }
  if (config.block_n < kMinKeys || config.block_n > 256 || config.block_n % 16 != 0) {
    refuse(fmt::format("block_n is a multiple of 16 from {} to 256", kMinKeys));
  }
  if (config.num_warps != 4 * (consumers_of(config) + 1)) {
    refuse("num_warps is 4 for each 64 rows of block_m, and 4 more");
  }
  if (config.num_stages < 1 || config.num_stages > kMaxStages) {
    refuse(fmt::format("num_stages is 1 to {}", kMaxStages));
  }
  if (config.block_d != 0 || config.cluster != 0) {
    refuse("block_d and cluster are for the schedule of larger head dims");
  }
  if (config.split_kv < 0 || config.split_kv > kMostParts) {
    refuse(fmt::format("split_kv is at most {}", kMostParts));
  }
  if (slots_of(problem, config).v == 0) {
    refuse(fmt::format("its tiles take {} bytes of shared memory, a block has {}",
                       shared_bytes(problem, config, {1, has_marks(problem)}), kSharedBytes));
  }
  if (config.block_n > kMinKeys &&
      held_registers(problem, config) > most_held(consumers_of(config))) {
    refuse(fmt::format("S, P and O take {} registers of a thread, of which {} are for them",
                       held_registers(problem, config), most_held(consumers_of(config))));
  }
}

}  // namespace ffpa_jit::rows
