// The `mma` family: templates/cuda/mma_forward.cu.j2, and where blocks share a tile's keys
// cuda/mma_merge.cu.j2 behind it.
//
// A config's numbers: block_m rows and block_n keys a tile, block_d columns of a K chunk,
// num_stages slots of the ring, num_warps. How the warps lie on a tile follows from them
// (layout_of). split_kv: 0, or the query heads of a kv head are packed into one tile, whose keys
// at most that many blocks share; how many is decided at each launch (parts_of).
#include "plan/families/mma.h"

#include <algorithm>
#include <limits>
#include <span>

#include "base/error.h"
#include "plan/feature_context.h"
#include "plan/features.h"

namespace ffpa_jit {
namespace {

constexpr int kMinCapability = 80;
constexpr int kMaxHeadDim = 1024;
constexpr int kWarpSize = 32;
constexpr int kDecodeQueries = 7;        // up to so many, heads are packed and keys shared
constexpr int kMaxOutRegisters = 192;    // of a thread, for O
constexpr int kStateOutRegisters = 160;  // above, a thread's rows' state is kept in shared memory
constexpr int kMaxSplits = 128;
constexpr char kEntry[] = "ffpa_mma_forward";
constexpr char kMergeEntry[] = "ffpa_mma_merge";
constexpr int kProgrammaticCapability = 90;  // from here on, launches may overlap

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

// Warps on a tile: warps_m row groups of m_tiles x 16 rows, each shared by warps_n warps side by
// side along the keys of S and the columns of O.
struct WarpLayout {
  int warps_m = 0, warps_n = 0, m_tiles = 0;
};

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
KernelConfig tile_config(const Problem& problem, int capability, int max_rows,
                         bool packed = false) {
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

// How many blocks share the keys of a tile of a shape: what takes least time by the bytes that a
// multiprocessor moves.
struct Parts {
  int group, block_m, most;
  int64_t key_bytes;  // of K and V
  int64_t at_once;    // blocks

  int64_t tiles(const Shape& shape) const {
    return divide_up(shape.seqlen_q * group, block_m) * shape.batch * (shape.heads_q / group);
  }

  int operator()(const Shape& shape) const {
    constexpr int64_t kBlock = 64 << 10;  // what starting and ending a block costs
    constexpr int64_t kMerge = 64 << 10;  // what merging costs
    int best = 1;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (int parts = 1; parts <= most; ++parts) {
      const int64_t keys = divide_up(shape.seqlen_k, parts);
      if (parts > 1 && keys < 64) break;
      const int64_t waves = divide_up(tiles(shape) * parts, at_once);
      int64_t cost = waves * (keys * key_bytes + kBlock);
      if (parts > 1) cost += kMerge;
      if (cost >= least) continue;
      least = cost;
      best = parts;
    }
    return best;
  }
};

Parts parts_of(const Problem& problem, const KernelConfig& config, const DeviceInfo& device) {
  const WarpLayout layout = layout_of(problem, config);
  const int64_t shared = shared_bytes(problem, config, layout) + 1024;
  const int64_t resident =
      std::min<int64_t>((shared_limit(device.target.compute_capability()) + 1024) / shared,
                        blocks_per_multiprocessor(problem, config, layout));
  Parts parts;
  parts.group = config.split_kv > 0 ? problem.gqa_group : 1;
  parts.block_m = config.block_m;
  parts.most = std::max(config.split_kv, 1);
  parts.key_bytes = 2 * (problem.head_dim + problem.head_dim_v);
  parts.at_once = std::max(device.multiprocessors, 1) * std::max<int64_t>(resident, 1);
  return parts;
}

class Mma final : public KernelFamily {
 public:
  std::string_view name() const override { return "mma"; }

  std::optional<std::string> refuses(const Problem& problem, const Target& target) const override {
    const int capability = target.compute_capability();
    if (capability == 0) return fmt::format("serves CUDA targets, not {}", text_of(target));
    if (capability < kMinCapability) {
      return fmt::format("needs sm_{} or later, {} is older", kMinCapability, text_of(target));
    }
    if (problem.direction != Direction::kForward) return "has a forward kernel only";
    if (problem.dtype != DType::kFp16 && problem.dtype != DType::kBf16) {
      return fmt::format("computes fp16 and bf16 on tensor cores, not {}", name_of(problem.dtype));
    }
    for (int head_dim : {problem.head_dim, problem.head_dim_v}) {
      if (head_dim < 8 || head_dim > kMaxHeadDim || head_dim % 8 != 0) {
        return fmt::format("head dim {} is not a multiple of 8 from 8 to {}", head_dim,
                           kMaxHeadDim);
      }
    }
    if (problem.has_bias && problem.bias_dtype != DType::kFp32 &&
        problem.bias_dtype != problem.dtype) {
      return fmt::format("a bias is fp32 or {}, not {}", name_of(problem.dtype),
                         name_of(problem.bias_dtype));
    }
    if (auto reason = lacks(problem, kEveryFeature)) return reason;
    if (tile_config(problem, capability, kMaxHeadDim).num_warps == 0) {
      return fmt::format("needs more shared memory for head dims {} and {} than the {} KiB of {}",
                         problem.head_dim, problem.head_dim_v, shared_limit(capability) >> 10,
                         text_of(target));
    }
    return std::nullopt;
  }

  KernelConfig default_config(const Problem& problem, const Shape& shape,
                              const DeviceInfo& device) const override {
    const int capability = device.target.compute_capability();
    // Of the class's shapes, the one with most queries.
    const int64_t queries =
        shape.seqlen_q <= kDecodeQueries ? shape.seqlen_q : 2 * shape.seqlen_q - 1;
    const int64_t rows = queries * problem.gqa_group;
    const KernelConfig whole = tile_config(problem, capability, kMaxHeadDim);
    if (shape.seqlen_q > kDecodeQueries && !leaves_idle(shape, device, rows, whole)) return whole;
    KernelConfig config = tile_config(problem, capability,
                                      static_cast<int>(std::min<int64_t>(rows, kMaxHeadDim)), true);
    if (shape.seqlen_q > kDecodeQueries && is_tight(problem, config, capability, true))
      return whole;
    if (config.num_warps == 0) config = whole;
    if (config.num_warps == 0) return config;
    config.split_kv = kMaxSplits;
    return config;
  }

  SearchSpace search_space(const Problem& problem, const Shape& shape, const DeviceInfo&,
                           TuneMode) const override {
    SearchAxis block_d{&KernelConfig::block_d, {}};  // the head dim in equal chunks
    for (const int chunks : {16, 8, 6, 5, 4, 3, 2, 1}) {
      const int value = round_up(divide_up(problem.head_dim, chunks), 16);
      if (value < 32 || value > 256) continue;
      if (block_d.values.empty() || block_d.values.back() < value) block_d.values.push_back(value);
    }
    SearchSpace space{{{&KernelConfig::block_m, {16, 32, 48, 64, 96, 128, 192}},
                       {&KernelConfig::block_n, {16, 32, 64, 128, 256}},
                       {&KernelConfig::num_stages, {2, 3, 4, 5}},
                       {&KernelConfig::num_warps, {4, 8, 16}}}};
    if (!block_d.values.empty()) space.axes.push_back(block_d);
    if (shape.seqlen_q <= kDecodeQueries) {
      space.axes.push_back(
          {&KernelConfig::split_kv, {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128}});
    }
    return space;
  }

  Plan plan(const Problem& problem, const KernelConfig& config,
            const DeviceInfo& device) const override {
    if (const auto reason = refuses(problem, device.target)) {
      throw_error(FFPA_JIT_UNSUPPORTED, "family mma cannot serve '{}' on {}: it {}",
                  text_of(problem), text_of(device.target), *reason);
    }
    const int capability = device.target.compute_capability();
    check_config(problem, config, capability);
    Plan plan;
    plan.family = name();
    plan.config = config;
    const Parts parts = parts_of(problem, config, device);
    plan.steps.push_back(forward_step(problem, config, capability, parts));
    if (config.split_kv > 1) {
      plan.steps.push_back(merge_step(problem, config, capability, parts));
      // As in cuda/mma_merge.cu.j2.
      plan.workspace_bytes = [parts, columns = problem.head_dim_v](const Shape& shape) -> size_t {
        const size_t shared = parts(shape);
        const size_t rows = static_cast<size_t>(shape.batch * shape.heads_q * shape.seqlen_q);
        return shared > 1 ? shared * rows * (columns + 1) * sizeof(float) : 0;
      };
    }
    return plan;
  }

 private:
  // Whether tiles of many keys and few rows leave half of the device's multiprocessors idle.
  static bool leaves_idle(const Shape& shape, const DeviceInfo& device, int64_t rows,
                          const KernelConfig& config) {
    if (config.block_m == 0 || shape.seqlen_k < 8 * shape.seqlen_q) return false;
    const int64_t tiles = divide_up(rows, config.block_m) * shape.batch * shape.heads_kv;
    return 2 * tiles <= device.multiprocessors;
  }

  static PlanStep forward_step(const Problem& problem, const KernelConfig& config, int capability,
                               const Parts& parts) {
    const WarpLayout layout = layout_of(problem, config);
    PlanStep step;
    step.template_name = "cuda/mma_forward.cu.j2";
    step.entry = kEntry;
    step.context["entry"] = kEntry;
    step.context["compute_capability"] = capability;
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
    step.context["fp16_accumulate"] = problem.fp16_accumulate && problem.dtype == DType::kFp16;
    set_features(step.context, problem);
    step.context["gqa_group"] = problem.gqa_group;
    step.context["packed"] = config.split_kv > 0;
    step.context["warps_m"] = layout.warps_m;
    step.context["warps_n"] = layout.warps_n;
    step.context["m_tiles"] = layout.m_tiles;
    step.context["block_n"] = config.block_n;
    step.context["chunk_d"] = config.block_d;
    step.context["chunk_n"] = chunk_n(problem, config, layout);
    step.context["num_stages"] = config.num_stages;
    step.context["blocks_per_multiprocessor"] = blocks_per_multiprocessor(problem, config, layout);
    // Where registers are left for them.
    step.context["q_in_registers"] =
        problem.head_dim <= 64 && config.block_d >= problem.head_dim &&
        layout.m_tiles * columns_of_warp(problem, layout.warps_n) <= 128;
    step.geometry = [config, parts, bytes = shared_bytes(problem, config, layout),
                     programmatic = config.split_kv > 0 &&
                                    capability >= kProgrammaticCapability](const Shape& shape) {
      const int64_t tiles = parts.tiles(shape);
      if (tiles > std::numeric_limits<int32_t>::max()) {
        throw_error(FFPA_JIT_UNSUPPORTED,
                    "'{}' takes {} blocks of family mma; a launch has at most {}: use sdpa",
                    text_of(shape), tiles, std::numeric_limits<int32_t>::max());
      }
      LaunchGeometry geometry;
      geometry.grid.x = static_cast<uint32_t>(tiles);
      geometry.grid.y = static_cast<uint32_t>(parts(shape));
      geometry.block.x = static_cast<uint32_t>(config.num_warps * kWarpSize);
      geometry.dynamic_shared_bytes = static_cast<uint32_t>(bytes);
      geometry.programmatic = programmatic;
      return geometry;
    };
    return step;
  }

  static PlanStep merge_step(const Problem& problem, const KernelConfig& config, int capability,
                             const Parts& parts) {
    constexpr int kWarps = 8;
    constexpr int kColumns = 8;  // of a warp
    PlanStep step;
    step.template_name = "cuda/mma_merge.cu.j2";
    step.entry = kMergeEntry;
    step.context["entry"] = kMergeEntry;
    step.context["compute_capability"] = capability;
    step.context["dtype"] = name_of(problem.dtype);
    step.context["head_dim_v"] = problem.head_dim_v;
    step.context["varlen"] = problem.layout == Layout::kVarlen;
    step.context["lse"] = problem.lse;
    step.context["max_parts"] = config.split_kv;
    step.geometry = [parts, columns = problem.head_dim_v,
                     programmatic = capability >= kProgrammaticCapability](const Shape& shape) {
      const int shared = parts(shape);
      LaunchGeometry geometry;
      geometry.grid.x =
          shared > 1 ? static_cast<uint32_t>(shape.batch * shape.heads_q * shape.seqlen_q) : 0;
      geometry.grid.y = static_cast<uint32_t>(divide_up(columns, kWarps * kColumns));
      geometry.block.x = kWarps * kWarpSize;
      geometry.dynamic_shared_bytes = static_cast<uint32_t>(4 * shared);
      geometry.programmatic = programmatic;
      return geometry;
    };
    return step;
  }
};

}  // namespace

const KernelFamily& mma_family() {
  static const Mma family;
  return family;
}

}  // namespace ffpa_jit
