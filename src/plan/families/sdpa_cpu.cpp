// The `sdpa` family on CPUs: one kernel, templates/cpu/attention_forward.cpp.j2, in which queries
// lie along the vector lanes. This file decides the tile sizes and how products are made at each
// level; the template says what its context means.
#include "plan/families/sdpa_cpu.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "plan/feature_context.h"
#include "plan/features.h"

namespace ffpa_jit {
namespace {

constexpr int kAmxKeys = 32;  // elements of the contracted dimension in one AMX tile
constexpr char kEntry[] = "ffpa_sdpa_forward";
constexpr int64_t kMaxScratchBytes = 64 << 20;
constexpr int64_t kUsualCacheBytes = 1 << 20;  // L2 of one core, where the device does not say

// How products are made.
enum class Dot { kFp32, kBf16Pairs, kAmx };

struct Level {
  std::string_view arch;
  int lanes;      // fp32 in a vector
  int max_panel;  // queries side by side: as many vectors as leave registers for sums
  bool f16c;
  Dot bf16_dot;  // how bf16 is multiplied
};

constexpr std::array<Level, 5> kLevels = {{
    {"x86-64", 4, 8, false, Dot::kFp32},
    {"x86-64-v3", 8, 16, true, Dot::kFp32},
    {"x86-64-v4", 16, 64, true, Dot::kFp32},
    {"x86-64-v4-bf16", 16, 64, true, Dot::kBf16Pairs},
    {"x86-64-v4-amx", 16, 64, true, Dot::kAmx},
}};

std::string_view name_of(Dot dot) {
  return dot == Dot::kAmx ? "amx" : dot == Dot::kBf16Pairs ? "bf16" : "fp32";
}

const Level* level_of(const Target& target) {
  if (target.kind != TargetKind::kCpu) return nullptr;
  const auto level = std::find_if(kLevels.begin(), kLevels.end(),
                                  [&](const Level& level) { return level.arch == target.arch; });
  return level == kLevels.end() ? nullptr : &*level;
}

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

// What a config means for one problem on one level.
struct Tiling {
  Dot dot;
  bool widened;    // K and V pass through scratch memory as fp32
  int step;        // elements of the contracted dimension per step
  int panel;       // queries side by side
  int group_keys;  // rows of scores in registers at once
  int group_dims;  // rows of the output in registers at once
};

Tiling tiling_of(const Problem& problem, const KernelConfig& config, const Level& level) {
  Tiling tiling;
  tiling.dot = problem.dtype == DType::kBf16 ? level.bf16_dot : Dot::kFp32;
  tiling.widened = problem.dtype != DType::kFp32 && tiling.dot == Dot::kFp32;
  tiling.step = tiling.dot == Dot::kFp32 ? 1 : 2;
  tiling.panel = std::min(config.block_m, level.max_panel);
  // Enough independent sums to hide the latency of a fused multiply-add, few enough to stay in
  // registers.
  const int vectors = tiling.panel / level.lanes;
  const int registers = level.lanes == 16 ? 16 : 8;
  tiling.group_keys = std::min(registers / vectors, 8);
  tiling.group_dims = tiling.group_keys;
  return tiling;
}

// sizeof(Scratch) in the template, or a little more.
int64_t scratch_bytes(const Problem& problem, const KernelConfig& config, const Level& level) {
  const Tiling tiling = tiling_of(problem, config, level);
  const bool amx = tiling.dot == Dot::kAmx;
  const int64_t out_dims = round_up(problem.head_dim_v, amx ? kAmxKeys : level.lanes);
  const int64_t query_cells = round_up(problem.head_dim, level.lanes * tiling.step) / tiling.step;
  const int64_t score_rows =
      config.block_n + (amx ? kAmxKeys : std::max(level.lanes, tiling.group_keys));
  const int64_t score_cells = score_rows * tiling.panel;
  int64_t staged = 0;  // in cells of 4 bytes
  if (tiling.widened) {
    staged = config.block_n * (round_up(problem.head_dim, level.lanes) + out_dims);
  } else if (tiling.dot == Dot::kBf16Pairs) {
    staged = config.block_n / 2 * out_dims;
  } else if (amx) {
    const int64_t keys = round_up(config.block_n, kAmxKeys);
    staged = (keys * round_up(problem.head_dim, kAmxKeys) + out_dims * (keys + kAmxKeys)) / 2;
  }
  const int64_t tiles =
      config.block_m * (query_cells + out_dims) + staged + score_cells * (problem.dropout ? 2 : 1);
  const int64_t rows = config.block_m * 64;  // pointers, ranges, and what features keep of a row
  const int64_t pages = problem.page_size == 0
                            ? 0
                            : config.block_n * static_cast<int64_t>(bytes_of(problem.dtype)) *
                                  (problem.head_dim + problem.head_dim_v);
  return round_up(4 * tiles + pages + score_cells + rows + 1024, 64);
}

void check_config(const Problem& problem, const KernelConfig& config, const Level& level) {
  const auto refuse = [&](const std::string& rule) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "family sdpa on a CPU cannot build config '{}' for '{}': {}; leave the config out "
                "to take the default",
                text_of(config), text_of(problem), rule);
  };
  const int panel = std::min(config.block_m, level.max_panel);
  const int vectors = panel / level.lanes;
  if (panel < level.lanes || panel % level.lanes != 0 || (vectors & (vectors - 1)) != 0 ||
      config.block_m % panel != 0 || config.block_m > 1024) {
    refuse(fmt::format("block_m is a power of two from {} to {}, or a multiple of {} up to 1024",
                       level.lanes, level.max_panel, level.max_panel));
  }
  if (config.block_n < 16 || config.block_n > 1024 || config.block_n % 16 != 0) {
    refuse("block_n is a multiple of 16 from 16 to 1024");
  }
  if (config.block_d != 0 || config.num_stages != 0 || config.num_warps != 0 ||
      config.cluster != 0 || config.split_kv != 0) {
    refuse("it has block_m and block_n only");
  }
  if (scratch_bytes(problem, config, level) > kMaxScratchBytes) {
    refuse("its tiles pass 64 MiB of scratch memory per thread");
  }
}

// How far one row of a mask or bias serves.
nlohmann::ordered_json reach_of(bool present, const BroadcastPattern& pattern, int gqa_group) {
  if (!present) return false;
  const bool one_row = !pattern.query && (gqa_group == 1 || !pattern.head);
  return one_row ? "keys" : "full";
}

class SdpaCpu final : public KernelFamily {
 public:
  std::string_view name() const override { return "sdpa"; }

  std::optional<std::string> refuses(const Problem& problem, const Target& target) const override {
    if (!level_of(target)) return fmt::format("serves CPU targets, not {}", text_of(target));
    return refused_by_all(problem);
  }

  KernelConfig default_config(const Problem& problem, const Shape& shape,
                              const DeviceInfo& device) const override {
    const Level* level = level_of(device.target);
    if (!level) {
      throw_error(FFPA_JIT_UNSUPPORTED, "family sdpa on a CPU cannot serve {}: take a cpu: target",
                  text_of(device.target));
    }
    const int64_t rows = std::max<int64_t>(shape.seqlen_q * problem.gqa_group, 1);
    KernelConfig config;
    config.block_m = level->lanes;
    while (config.block_m < level->max_panel && config.block_m < rows) config.block_m *= 2;
    // K and V are fetched, and staged, once for all rows of a tile: more rows pay off as long as
    // the tile stays in the L2 cache and every thread has a few tiles.
    const Tiling tiling = tiling_of(problem, config, *level);
    const int max_block_m = tiling.dot == Dot::kAmx ? 256 : 128;
    const int64_t cache_bytes =
        device.shared_bytes_per_block > 0 ? device.shared_bytes_per_block : kUsualCacheBytes;
    const int64_t threads = std::max(device.multiprocessors, 1);
    const int64_t heads = std::max<int64_t>(shape.batch * shape.heads_kv, 1);
    while (config.block_m < max_block_m && config.block_m < rows &&
           heads * (rows / (2 * config.block_m)) >= 4 * threads &&
           2 * config.block_m * int64_t{4} * problem.head_dim_v <= cache_bytes / 4) {
      config.block_m *= 2;
    }
    const int head_dim = std::max(problem.head_dim, problem.head_dim_v);
    const bool narrow = tiling.dot != Dot::kFp32;
    config.block_n = head_dim < 256     ? (narrow ? 128 : 64)
                     : head_dim <= 1024 ? (narrow ? 64 : 32)
                                        : 32;
    return config;
  }

  SearchSpace search_space(const Problem&, const Shape&, const DeviceInfo&,
                           TuneMode) const override {
    return {{{&KernelConfig::block_m, {8, 16, 32, 64, 128, 192, 256}},
             {&KernelConfig::block_n, {16, 32, 48, 64, 96, 128, 192, 256}}}};
  }

  Plan plan(const Problem& problem, const KernelConfig& config,
            const DeviceInfo& device) const override {
    if (const auto reason = refuses(problem, device.target)) {
      throw_error(FFPA_JIT_UNSUPPORTED, "family sdpa cannot serve '{}' on {}: it {}",
                  text_of(problem), text_of(device.target), *reason);
    }
    const Level& level = *level_of(device.target);
    check_config(problem, config, level);
    const Tiling tiling = tiling_of(problem, config, level);
    const int64_t scratch = scratch_bytes(problem, config, level);

    PlanStep step;
    step.template_name = "cpu/attention_forward.cpp.j2";
    step.entry = kEntry;
    step.context["entry"] = kEntry;
    step.context["lanes"] = level.lanes;
    step.context["has_f16c"] = level.f16c;
    set_problem(step.context, problem);
    step.context["dot"] = name_of(tiling.dot);
    step.context["gqa_group"] = problem.gqa_group;
    step.context["mask"] = reach_of(problem.has_mask, problem.mask_pattern, problem.gqa_group);
    step.context["bias"] = reach_of(problem.has_bias, problem.bias_pattern, problem.gqa_group);
    step.context["bias_dtype"] = name_of(problem.has_bias ? problem.bias_dtype : DType::kFp32);
    step.context["block_m"] = config.block_m;
    step.context["block_n"] = config.block_n;
    step.context["panel"] = tiling.panel;
    step.context["group_keys"] = tiling.group_keys;
    step.context["group_dims"] = tiling.group_dims;
    step.context["scratch_bytes"] = scratch;

    // x: tiles of one key/value head's rows; the query heads that share it are rows too.
    step.geometry = [block_m = config.block_m, group = problem.gqa_group,
                     scratch](const Shape& shape) {
      const int64_t tiles = (shape.seqlen_q * group + block_m - 1) / block_m;
      if (tiles > std::numeric_limits<uint32_t>::max()) {
        throw_error(
            FFPA_JIT_UNSUPPORTED,
            "'{}' takes {} tiles of a head; a launch has at most {}: use fewer queries at a "
            "time",
            text_of(shape), tiles, std::numeric_limits<uint32_t>::max());
      }
      LaunchGeometry geometry;
      geometry.grid.x = static_cast<uint32_t>(tiles);
      geometry.grid.y = static_cast<uint32_t>(shape.heads_kv);
      geometry.grid.z = static_cast<uint32_t>(shape.batch);
      geometry.dynamic_shared_bytes = static_cast<uint32_t>(scratch);
      return geometry;
    };

    Plan plan;
    plan.family = name();
    plan.config = config;
    plan.steps.push_back(std::move(step));
    return plan;
  }
};

}  // namespace

const KernelFamily& sdpa_cpu_family() {
  static const SdpaCpu family;
  return family;
}

}  // namespace ffpa_jit
