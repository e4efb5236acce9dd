// The `wgmma` family's schedule for head dims up to 352: templates/cuda/wgmma_rows.cu.j2.
//
// A config's numbers: block_m, 64 rows for each consumer warpgroup; block_n keys a tile; num_stages
// slots for K, and as many for V as shared memory then has room for; num_warps, four for each
// consumer and four more.
#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "plan/families/wgmma_schedule.h"
#include "plan/families/wgmma_tensors.h"
#include "plan/feature_context.h"
#include "plan/features.h"

namespace ffpa_jit {
namespace {

#define FFPA_DEVICE inline
#include "common/wgmma_rows_work.h"
#undef FFPA_DEVICE

constexpr int kMaxHeadDim = 352;
// Up to here O leaves registers for any feature; past it, for those that need few.
constexpr int kMaxHeadDimOfAll = 256;
constexpr int kMinKeys = 32;  // of a tile
constexpr int kWarpSize = 32;
constexpr int64_t kSharedBytes = 232448;  // of a block
constexpr int kMaxStages = 4;
constexpr int kItemsBytes = 2 * 128;  // what a block's warps tell each other of two items
constexpr int kMostParts = 8;
// Tiles of keys from which a tile is shared out, alone and beside whole waves: as in rows_work().
constexpr int kLeastSharedKeys = 2 * 6, kLeastSharedBesideWaves = 2 * 16;
constexpr int kKeptStages = 8;  // tiles whose dropout is decided at a time
// Blocks that take one item after the other, from a counter, pay from so many items each on: the
// counter has to be cleared ahead of the launch.
constexpr int kItemsToCount = 3;
constexpr char kEntry[] = "ffpa_wgmma_rows";

int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

int consumers_of(const KernelConfig& config) { return config.block_m / 64; }

// Rows of a tile are stored in blocks of 64 columns, 128 bytes each.
int64_t row_bytes(int head_dim) { return divide_up(head_dim, 64) * 128; }

// Slots of shared memory: for V, and for each consumer's part of masks and biases.
struct Slots {
  int v, marks;
};
constexpr int kMaxMarkStages = 2;

bool has_marks(const Problem& problem) { return problem.has_mask || problem.has_bias; }

// A tile of a mask or a bias as cuda/wgmma_rows_marks.cuh has it in a slot: boxes of so many keys.
struct MarkBoxes {
  int keys, count;
};
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

// Of a slot of all consumers.
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

// Whether O leaves by way of shared memory, where there is room for it beside the slots.
bool is_staged(const Problem& problem) {
  return std::max(problem.head_dim, problem.head_dim_v) <= 128 && !has_marks(problem) &&
         !problem.dropout;
}

bool is_plain(const Problem& problem) {
  return !problem.seqlens_k && !problem.dropout && !has_marks(problem) &&
         problem.layout != Layout::kVarlen;
}

// Whether tiles run from the longest to the shortest.
bool are_tiles_sorted(const Problem& problem) {
  return (problem.causal || problem.window_right) && is_plain(problem);
}

// Whether all tiles take as long.
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

// As many as fit, of V first; none of V when not even one of each fits.
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

// What needs registers beside S, P and O.
bool has_modifiers(const Problem& problem) {
  return problem.dropout || problem.softcap || !problem.score_modifier.empty();
}

int num_features(const Problem& problem) {
  return problem.has_bias + problem.has_mask + problem.dropout + problem.softcap +
         problem.window_left + (problem.layout == Layout::kVarlen) + problem.seqlens_k +
         !problem.score_modifier.empty();
}

// Query heads of a kv head whose rows are in one tile. What differs from head to head in memory, as
// masks do, is read by the rows of a single head.
int heads_packed(const Problem& problem) {
  const bool by_head =
      problem.has_mask || problem.has_bias || problem.dropout || !problem.score_modifier.empty();
  return by_head ? 1 : std::gcd(problem.gqa_group, 64);
}

// Tiles of a shape.
int64_t tiles_of(const Problem& problem, const KernelConfig& config, const Shape& shape) {
  const int packed = heads_packed(problem);
  return divide_up(shape.seqlen_q, config.block_m / packed) * shape.batch *
         (shape.heads_q / packed);
}

// Registers that a consumer's threads hold at most: S, P, O, and what is found out about S ahead.
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

// Registers of a thread: 64 K are shared by a block's 128 (consumers + 1) threads. The more a
// problem asks for, the more the thread that loads has to know of a tile.
struct Registers {
  int producer, consumer;
};
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

// So many leave room for addresses, row sums and the like without spills: found by compiling.
int most_held(int consumers) { return consumers == 3 ? 136 : 209; }

// `config` with tiles of `block_m` rows and at most `block_n` keys.
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

// Measured on an H200.
KernelConfig tile_config(const Problem& problem) {
  struct Row {
    int max_columns, block_m, block_n, num_stages;
  };
  static constexpr Row kPlain[] = {{64, 192, 128, 3}, {128, 192, 80, 3}, {192, 128, 112, 2},
                                   {256, 128, 64, 3}, {320, 128, 48, 2}, {kMaxHeadDim, 128, 32, 3}};
  static constexpr Row kWindowed[] = {{64, 192, 128, 3},  {128, 192, 80, 3},
                                      {192, 128, 112, 2}, {256, 128, 80, 2},
                                      {320, 128, 48, 2},  {kMaxHeadDim, 128, 32, 3}};
  static constexpr Row kModified[] = {{64, 128, 128, 3}, {128, 128, 128, 3},
                                      {192, 128, 96, 2}, {256, 128, 64, 2},
                                      {320, 128, 48, 2}, {kMaxHeadDim, 128, 32, 3}};
  static constexpr Row kMarked[] = {{64, 192, 128, 3}, {128, 192, 80, 3},
                                    {192, 128, 80, 2}, {256, 128, 64, 2},
                                    {320, 128, 48, 2}, {kMaxHeadDim, 128, 32, 3}};
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

// How a shape's tiles are dealt out.
struct Work {
  Problem problem;
  KernelConfig config;
  int multiprocessors;

  RowsWork of(const Shape& shape) const {
    const int64_t tiles = tiles_of(problem, config, shape);
    if (tiles > std::numeric_limits<int32_t>::max() / kMostParts) {
      throw_error(FFPA_JIT_UNSUPPORTED,
                  "'{}' takes {} tiles of family wgmma, which counts up to {}: use sdpa",
                  text_of(shape), tiles, std::numeric_limits<int32_t>::max() / kMostParts);
    }
    // Sequences of a packed batch differ: they are not shared out.
    const int64_t kv_tiles =
        problem.layout == Layout::kVarlen ? 1 : divide_up(shape.seqlen_k, config.block_n);
    return rows_work(static_cast<int>(tiles), static_cast<int>(kv_tiles), multiprocessors,
                     std::max(config.split_kv, 1));
  }
  bool is_dealt(int items) const {
    return are_tiles_even(problem) ||
           (are_tiles_sorted(problem) && rows_are_dealt(items, multiprocessors));
  }
  bool counts(const Shape& shape) const {
    const int items = of(shape).items();
    return !is_dealt(items) && items >= kItemsToCount * multiprocessors;
  }
  int blocks(const Shape& shape) const {
    const int items = of(shape).items();
    return counts(shape) || is_dealt(items) ? std::min(multiprocessors, items) : items;
  }
  size_t workspace_bytes(const Shape& shape) const {
    const RowsWork work = of(shape);
    const int64_t parts = int64_t{work.shared} * work.parts * consumers_of(config);
    if (parts == 0 && !counts(shape)) return 0;
    return static_cast<size_t>(kRowsCounterBytes + rows_words_bytes(work, consumers_of(config)) +
                               parts * rows_part_floats(problem.head_dim_v) * 4);
  }
};

class Rows final : public WgmmaSchedule {
 public:
  bool covers(const Problem& problem) const override {
    const int head_dim = std::max(problem.head_dim, problem.head_dim_v);
    if (head_dim <= kMaxHeadDimOfAll) return true;
    KernelConfig least;
    least.block_m = 128;
    least.block_n = kMinKeys;
    return head_dim <= kMaxHeadDim &&
           held_registers(problem, least) <= most_held(consumers_of(least));
  }

  bool loads_marks() const override { return true; }

  std::optional<std::string> refuses(const Problem& problem) const override {
    return lacks(problem, {Feature::kScoreModifier, Feature::kSinks, Feature::kSeqlensK});
  }

  KernelConfig default_config(const Problem& problem, const Shape& shape,
                              const DeviceInfo& device) const override {
    KernelConfig config = tile_config(problem);
    const bool uneven = problem.causal || problem.window_left || problem.window_right;
    const auto tiles = [&](const KernelConfig& c) { return tiles_of(problem, c, shape); };
    const int64_t at_once = std::max(device.multiprocessors, 1);
    if (config.block_m == 192) {
      const KernelConfig smaller = with_rows(problem, config, 128, 128);
      const bool pays = uneven ? few_keys_are_hidden(problem, shape, config, at_once)
                               : clocks_of(problem, shape, smaller, at_once) <=
                                     clocks_of(problem, shape, config, at_once);
      if (pays) config = smaller;
    }
    if (uneven && config.block_m == 128 && config.block_n == 80 && shape.seqlen_k < 8192) {
      config.num_stages = 3;
      config = with_rows(problem, config, 128, 64);
    }
    // Causal tiles differ in length, the short ones last: what whole waves leave over matters only
    // where there is hardly one. Masks and the like leave no registers for it. The shape is the
    // smallest of its class.
    const int64_t keys = (2 * shape.seqlen_k - 1) / config.block_n;
    const bool few = tiles(config) < at_once;
    if (problem.layout != Layout::kVarlen && !has_modifiers(problem) && !has_marks(problem) &&
        (few || are_tiles_even(problem)) &&
        keys >= (few ? kLeastSharedKeys : kLeastSharedBesideWaves)) {
      config.split_kv = kMostParts;
    }
    return config;
  }

  SearchSpace search_space(const Problem&, const Shape&, const DeviceInfo&,
                           TuneMode) const override {
    return {{{&KernelConfig::block_m, {64, 128, 192}},
             {&KernelConfig::block_n, {32, 48, 64, 80, 96, 112, 128, 144, 160, 176}},
             {&KernelConfig::num_stages, {1, 2, 3, 4}},
             {&KernelConfig::num_warps, {8, 12, 16}},
             {&KernelConfig::split_kv, {0, kMostParts}}}};
  }

  void plan(const Problem& problem, const KernelConfig& config, const DeviceInfo& device,
            Plan& plan) const override {
    check_config(problem, config);
    const Work work{problem, config, std::max(device.multiprocessors, 1)};
    plan.steps.push_back(forward_step(problem, config, work));
    plan.workspace_bytes = [work](const Shape& shape) { return work.workspace_bytes(shape); };
    plan.zeroed_bytes = [work](const Shape& shape) -> size_t {
      return work.counts(shape) ? kRowsCounterBytes : 0;
    };
  }

 private:
  // About how long tiles of one length take, in clocks of an H200.
  static int64_t clocks_of(const Problem& problem, const Shape& shape, const KernelConfig& config,
                           int64_t at_once) {
    const bool small = std::max(problem.head_dim, problem.head_dim_v) <= 64;
    const int64_t of_keys = config.block_m == 192 ? (small ? 2700 : 2290) : (small ? 2240 : 2600);
    constexpr int64_t kBeside = 4500, kMerge = 8000;
    const int64_t keys = divide_up(shape.seqlen_k, config.block_n);
    const RowsWork work = rows_work(static_cast<int>(tiles_of(problem, config, shape)),
                                    static_cast<int>(keys), static_cast<int>(at_once),
                                    has_modifiers(problem) || has_marks(problem) ? 1 : kMostParts);
    const int64_t whole = divide_up(work.whole, at_once) * (keys * of_keys + kBeside);
    if (work.shared == 0) return whole;
    return whole + divide_up(work.shared * work.parts, at_once) *
                       (divide_up(keys, work.parts) * of_keys + kBeside + kMerge);
  }

  // Whether fewer rows pay: whose tiles of keys lie less across the diagonal, or which occupy the
  // device better.
  static bool few_keys_are_hidden(const Problem& problem, const Shape& shape,
                                  const KernelConfig& config, int64_t at_once) {
    if (tiles_of(problem, config, shape) < kItemsToCount * at_once) return true;
    const bool small = std::max(problem.head_dim, problem.head_dim_v) <= 64;
    return heads_packed(problem) < 4 && shape.seqlen_k <= (small ? 1024 : 4096);
  }

  static PlanStep forward_step(const Problem& problem, const KernelConfig& config,
                               const Work& work) {
    const int consumers = consumers_of(config);
    const Slots slots = slots_of(problem, config);
    PlanStep step;
    step.template_name = "cuda/wgmma_rows.cu.j2";
    step.entry = kEntry;
    step.context["entry"] = kEntry;
    step.context["compute_capability"] = 90;
    step.context["dtype"] = name_of(problem.dtype);
    step.context["head_dim"] = problem.head_dim;
    step.context["head_dim_v"] = problem.head_dim_v;
    step.context["varlen"] = problem.layout == Layout::kVarlen;
    step.context["window_left"] = problem.window_left;
    step.context["window_right"] = problem.window_right || problem.causal;
    step.context["mask"] = problem.has_mask;
    step.context["bias"] = false;
    if (problem.has_bias) step.context["bias"] = name_of(problem.bias_dtype);
    step.context["dropout"] = problem.dropout;
    step.context["softcap"] = problem.softcap;
    step.context["lse"] = problem.lse;
    set_features(step.context, problem);
    step.context["consumers"] = consumers;
    step.context["even"] = are_tiles_even(problem);
    step.context["sorted"] = are_tiles_sorted(problem);
    step.context["staged"] = is_staged(problem);
    step.context["heads_packed"] = heads_packed(problem);
    step.context["block_n"] = config.block_n;
    step.context["k_stages"] = config.num_stages;
    step.context["v_stages"] = slots.v;
    if (has_marks(problem)) {
      step.context["mark_stages"] = slots.marks;
      step.context["mark_bytes"] = slots.marks * mark_bytes(problem, config);
      step.context["mask_by_row"] = problem.mask_pattern.query;
      step.context["bias_by_row"] = problem.bias_pattern.query;
    }
    step.context["max_rise"] = "8.0f";
    const Registers registers = registers_of(problem, config);
    step.context["producer_registers"] = registers.producer;
    step.context["consumer_registers"] = registers.consumer;
    if (problem.dropout) step.context["kept_stages"] = kKeptStages;
    step.context["multiprocessors"] = work.multiprocessors;
    step.context["most_parts"] = std::max(config.split_kv, 1);
    step.geometry = [work, bytes = shared_bytes(problem, config, slots),
                     threads = config.num_warps * kWarpSize](const Shape& shape) {
      LaunchGeometry geometry;
      geometry.grid.x = static_cast<uint32_t>(work.blocks(shape));
      geometry.block.x = static_cast<uint32_t>(threads);
      geometry.dynamic_shared_bytes = static_cast<uint32_t>(bytes);
      geometry.programmatic = !work.counts(shape);
      return geometry;
    };
    step.tensor_maps = [problem, config](const ForwardParams& params, const Shape& shape) {
      TensorMapSpecs maps;
      const int packed = heads_packed(problem);
      TensorMapSpec& q = maps.add();
      q = q_tensor_map(problem, params, shape, 64 / packed);
      q.box[2] = static_cast<uint32_t>(packed);
      maps.add() = k_tensor_map(problem, params, shape, config.block_n);
      maps.add() = v_tensor_map(problem, params, shape, config.block_n);
      if (problem.has_mask) {
        const int keys = mark_boxes(config, problem.mask_pattern.query, DType::kBool).keys;
        maps.add() = mask_tensor_map(problem, params, shape, keys);
      }
      if (problem.has_bias) {
        const int keys = mark_boxes(config, problem.bias_pattern.query, problem.bias_dtype).keys;
        maps.add() = bias_tensor_map(problem, params, shape, keys);
      }
      return maps;
    };
    return step;
  }
};

}  // namespace

const WgmmaSchedule& wgmma_rows() {
  static const Rows schedule;
  return schedule;
}

}  // namespace ffpa_jit
