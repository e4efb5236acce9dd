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
#include "plan/families/mma_tiles.h"
#include "plan/feature_context.h"
#include "plan/features.h"

namespace ffpa_jit {
namespace {

using namespace mma;
using mma::kMaxHeadDim;  // not the one of problems

constexpr int kMinCapability = 80;
constexpr int kDecodeQueries = 7;  // up to so many, heads are packed and keys shared
constexpr char kEntry[] = "ffpa_mma_forward";
constexpr char kMergeEntry[] = "ffpa_mma_merge";
constexpr int kProgrammaticCapability = 90;  // from here on, launches may overlap

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
    set_problem(step.context, problem);
    step.context["fp16_accumulate"] = problem.fp16_accumulate && problem.dtype == DType::kFp16;
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
