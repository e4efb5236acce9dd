// The `wgmma` family's schedule for head dims up to 352: templates/cuda/wgmma_rows.cu.j2. What a
// config's numbers mean is in wgmma_rows_tiles.h.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "plan/families/wgmma_rows_tiles.h"
#include "plan/families/wgmma_schedule.h"
#include "plan/families/wgmma_tensors.h"
#include "plan/feature_context.h"
#include "plan/features.h"

namespace ffpa_jit {
namespace {

using namespace rows;

#define FFPA_DEVICE inline
#include "common/wgmma_rows_work.h"
#undef FFPA_DEVICE

constexpr int kWarpSize = 32;
// Tiles of keys from which a tile is shared out, alone and beside whole waves: as in rows_work().
constexpr int kLeastSharedKeys = 2 * 6, kLeastSharedBesideWaves = 2 * 16;
// Blocks that take one item after the other, from a counter, pay from so many items each on: the
// counter has to be cleared ahead of the launch.
constexpr int kItemsToCount = 3;
constexpr char kEntry[] = "ffpa_wgmma_rows";

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
    return head_dim <= kLargestHeadDim &&
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
    set_problem(step.context, problem);
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
