// The `wgmma` family's schedule for head dims past 256: templates/cuda/wgmma_columns.cu.j2.
//
// A config's numbers: block_m = 64 rows and block_n = 256 keys a tile; block_d columns of a K
// chunk, 32 or 64 (a V chunk has half as many keys); num_stages chunks in each of the two rings;
// num_warps = 12; cluster: 0, or 2 blocks that share loads. Past 512 columns of O, or past 384
// where masks and the like need registers, a cluster shares these columns out; otherwise its blocks
// have neighbouring rows.
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

constexpr int kBlockM = 64;
constexpr int kBlockN = 256;
constexpr int kConsumers = 2;  // warpgroups
constexpr int kNumWarps = 4 * (kConsumers + 1);
constexpr int kWarpSize = 32;
constexpr int kMinHeadDim = 257;          // of the larger head dim
constexpr int kMaxBlockColumns = 512;     // of O, in one block's registers
constexpr int64_t kSharedBytes = 232448;  // of a block
constexpr int kPageBytes = 1024;          // barriers and statistics behind a ring
constexpr int kMaxStages = 8;             // whose barriers a page has room for
// Up to so many columns of O, a consumer's thread has 232 registers and a producer's 40; past it
// 240 and 24.
constexpr int kMaxColumnsOf232 = 224;
constexpr char kEntry[] = "ffpa_wgmma_columns";

int divide_up(int64_t value, int64_t by) { return static_cast<int>((value + by - 1) / by); }
int round_up(int value, int to) { return divide_up(value, to) * to; }

// How much a problem does to its scores, in registers that S and O leave to it.
int score_changes(const Problem& problem) {
  return problem.has_mask + 2 * problem.has_bias + problem.dropout + problem.softcap +
         !problem.score_modifier.empty() + 2 * problem.window_left;
}
constexpr int kMaxScoreChanges = 2;
constexpr int kMaxColumnsOfTight = 192;
constexpr int kMinHeadDimOfMasks = 264;  // whose Q K^T is long enough to look at a mask meanwhile

// Whether O may have only kMaxColumnsOfTight columns of a warpgroup.
bool is_tight(const Problem& problem) {
  return score_changes(problem) >= kMaxScoreChanges || (problem.dropout && problem.lse);
}

// Whether the blocks of a cluster share the columns of O out: they have to past 512, and O leaves
// more registers so.
bool splits_columns(const Problem& problem) {
  return problem.head_dim_v > kMaxBlockColumns ||
         (is_tight(problem) && problem.head_dim_v > 2 * kMaxColumnsOfTight);
}

// Columns of O that a warpgroup owns.
int columns_of(const Problem& problem) {
  const int owners = kConsumers * (splits_columns(problem) ? 2 : 1);
  return round_up(divide_up(problem.head_dim_v, owners), 16);
}

// How V lies in shared memory: in blocks of `block` columns. Where the head dim is as many whole
// blocks for every owner, a chunk is one copy by a map that counts blocks; otherwise one for each
// block, clipped at the head dim.
struct VLayout {
  int block;
  bool whole;
};

VLayout v_layout(const Problem& problem) {
  const int columns = columns_of(problem);
  const bool even = problem.head_dim_v % columns == 0;
  if (even && columns % 64 != 0 && columns % 32 == 0) return {32, true};
  return {64, even && columns % 64 == 0};
}

// Query heads of a kv head that share a tile, which has 64 / so many query positions.
int heads_packed(const Problem& problem) { return std::gcd(problem.gqa_group, kBlockM); }

// Where the cluster's blocks each have all of Q K^T to compute, Q is loaded again with every chunk
// of K: it would take the room that the rings need.
bool q_streams(const Problem& problem) { return splits_columns(problem); }

// As in cuda/wgmma_columns_shared.cuh.
int64_t slot_bytes(const Problem& problem, int block_d) {
  const VLayout v = v_layout(problem);
  const int64_t k_bytes =
      kBlockN / kConsumers * block_d * 2 + (q_streams(problem) ? kBlockM * 128 : 0);
  const int64_t v_bytes = divide_up(columns_of(problem), v.block) * (block_d / 2) * v.block * 2;
  return divide_up(std::max(k_bytes, v_bytes), 1024) * 1024;
}

int64_t resident_bytes(const Problem& problem, int block_d) {
  const int chunks = std::max(divide_up(problem.head_dim, block_d), 3);
  const int64_t q_blocks = q_streams(problem) ? 0 : divide_up(chunks * block_d, 64);
  return (q_blocks + kBlockN / 64) * kBlockM * 128 + kConsumers * kPageBytes;
}

int64_t shared_bytes(const Problem& problem, const KernelConfig& config) {
  return resident_bytes(problem, config.block_d) +
         kConsumers * config.num_stages * slot_bytes(problem, config.block_d);
}

int stages_that_fit(const Problem& problem, int block_d) {
  const int64_t ring = kConsumers * slot_bytes(problem, block_d);
  return static_cast<int>((kSharedBytes - resident_bytes(problem, block_d)) / ring);
}

bool is_windowed(const Problem& problem) {
  return problem.causal || problem.window_left || problem.window_right;
}

void check_config(const Problem& problem, const KernelConfig& config) {
  const auto refuse = [&](std::string_view rule) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "family wgmma cannot build config '{}' for '{}': {}; leave the config out to take "
                "the default",
                text_of(config), text_of(problem), rule);
  };
  if (config.block_m != kBlockM || config.block_n != kBlockN || config.num_warps != kNumWarps) {
    refuse(fmt::format("past head dim 256, block_m is {}, block_n {} and num_warps {}", kBlockM,
                       kBlockN, kNumWarps));
  }
  if (config.block_d != 32 && config.block_d != 64) refuse("block_d is 32 or 64");
  if (q_streams(problem) && config.block_d != 64)
    refuse("where a cluster shares out the columns of V block_d is 64");
  if (config.split_kv != 0) refuse("it does not split keys");
  if (splits_columns(problem) ? config.cluster != 2 : config.cluster != 0 && config.cluster != 2) {
    refuse("cluster is 0 or 2, and 2 where it shares out the columns of V");
  }
  if (config.num_stages < 2 || config.num_stages > kMaxStages) {
    refuse(fmt::format("num_stages is 2 to {}", kMaxStages));
  }
  if (shared_bytes(problem, config) > kSharedBytes) {
    refuse(fmt::format("its tiles take {} bytes of shared memory, a block has {}",
                       shared_bytes(problem, config), kSharedBytes));
  }
}

// [batch][head][row][column] as [batch][head][block of columns][row][column], in boxes of so many
// whole blocks.
TensorMapSpec by_blocks(const TensorMapSpec& plain, int block, int blocks) {
  TensorMapSpec spec = plain;
  const auto width = static_cast<uint64_t>(block);
  spec.rank = 5;
  spec.sizes = {width, plain.sizes[1], plain.sizes[0] / width, plain.sizes[2], plain.sizes[3]};
  spec.strides = {plain.strides[0], 2 * width, plain.strides[1], plain.strides[2]};
  spec.box = {plain.box[0], plain.box[1], static_cast<uint32_t>(blocks), 1, 1};
  return spec;
}

class Columns final : public WgmmaSchedule {
 public:
  bool covers(const Problem& problem) const override {
    return std::max(problem.head_dim, problem.head_dim_v) >= kMinHeadDim;
  }

  std::optional<std::string> refuses(const Problem& problem) const override {
    if (score_changes(problem) > kMaxScoreChanges) {
      return "has registers past head dim 256 for two of mask, dropout, softcap and score "
             "modifier, for a bias or for a left window";
    }
    if (is_tight(problem) && columns_of(problem) > kMaxColumnsOfTight) {
      return fmt::format(
          "has registers past {} columns of V for one of mask, dropout without LSE, softcap and "
          "score modifier",
          4 * kMaxColumnsOfTight);
    }
    if (problem.has_mask && problem.head_dim < kMinHeadDimOfMasks) {
      return fmt::format("looks at a mask while it computes Q K^T, of head dims from {} on here",
                         kMinHeadDimOfMasks);
    }
    return lacks(problem, {Feature::kScoreModifier, Feature::kSinks, Feature::kSeqlensK});
  }

  // Chunks of 16 KiB where at least four of them fit a ring, smaller ones otherwise. When causal,
  // neighbouring rows read the same keys: a cluster halves what comes from L2, which else is the
  // bound.
  KernelConfig default_config(const Problem& problem, const Shape&,
                              const DeviceInfo&) const override {
    KernelConfig config;
    config.block_m = kBlockM;
    config.block_n = kBlockN;
    config.num_warps = kNumWarps;
    config.block_d = q_streams(problem) || stages_that_fit(problem, 64) >= 4 ? 64 : 32;
    config.num_stages = std::min(stages_that_fit(problem, config.block_d), kMaxStages);
    if (splits_columns(problem) || is_windowed(problem) || columns_of(problem) <= 160)
      config.cluster = 2;
    return config;
  }

  SearchSpace search_space(const Problem&, const Shape&, const DeviceInfo&,
                           TuneMode) const override {
    return {{{&KernelConfig::block_d, {32, 64}},
             {&KernelConfig::num_stages, {2, 3, 4, 5, 6, 7, 8, 9, 10}},
             {&KernelConfig::cluster, {0, 2}}}};
  }

  void plan(const Problem& problem, const KernelConfig& config, const DeviceInfo&,
            Plan& plan) const override {
    check_config(problem, config);
    plan.steps.push_back(forward_step(problem, config));
  }

 private:
  static PlanStep forward_step(const Problem& problem, const KernelConfig& config) {
    const int cluster = std::max(config.cluster, 1);
    const bool by_columns = splits_columns(problem);
    PlanStep step;
    step.template_name = "cuda/wgmma_columns.cu.j2";
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
    step.context["heads_packed"] = heads_packed(problem);
    step.context["chunk_d"] = config.block_d;
    step.context["num_stages"] = config.num_stages;
    step.context["cluster"] = cluster;
    step.context["splits"] = by_columns ? "columns" : "rows";
    step.context["columns"] = columns_of(problem);
    step.context["v_block"] = v_layout(problem).block;
    step.context["v_whole"] = v_layout(problem).whole;
    step.context["q_streams"] = q_streams(problem);
    const bool few = columns_of(problem) <= kMaxColumnsOf232;
    step.context["consumer_registers"] = few ? 232 : 240;
    step.context["producer_registers"] = few ? 40 : 24;
    step.geometry = [cluster, by_columns, packed = heads_packed(problem),
                     bytes = shared_bytes(problem, config)](const Shape& shape) {
      const int64_t positions = kBlockM / packed * (by_columns ? 1 : cluster);
      const int64_t blocks =
          divide_up(shape.seqlen_q, positions) * shape.batch * (shape.heads_q / packed) * cluster;
      if (blocks > std::numeric_limits<int32_t>::max()) {
        throw_error(FFPA_JIT_UNSUPPORTED,
                    "'{}' takes {} blocks of family wgmma; a launch has at most {}: use sdpa",
                    text_of(shape), blocks, std::numeric_limits<int32_t>::max());
      }
      LaunchGeometry geometry;
      geometry.grid.x = static_cast<uint32_t>(blocks);
      geometry.block.x = kNumWarps * kWarpSize;
      if (cluster > 1) geometry.cluster.x = static_cast<uint32_t>(cluster);
      geometry.dynamic_shared_bytes = static_cast<uint32_t>(bytes);
      return geometry;
    };
    step.tensor_maps = [problem, config](const ForwardParams& params, const Shape& shape) {
      const int packed = heads_packed(problem);
      TensorMapSpecs maps;
      TensorMapSpec& q = maps.add();
      q = q_tensor_map(problem, params, shape, kBlockM / packed);
      q.box[2] = static_cast<uint32_t>(packed);
      maps.add() = k_tensor_map(problem, params, shape, kBlockN / kConsumers, config.block_d);
      const VLayout v = v_layout(problem);
      const TensorMapSpec by_columns =
          v_tensor_map(problem, params, shape, config.block_d / 2, v.block);
      maps.add() =
          v.whole ? by_blocks(by_columns, v.block, columns_of(problem) / v.block) : by_columns;
      return maps;
    };
    return step;
  }
};

}  // namespace

const WgmmaSchedule& wgmma_columns() {
  static const Columns schedule;
  return schedule;
}

}  // namespace ffpa_jit
