// The `wgmma` family's schedule for head dims past 512: templates/cuda/wgmma_halves.cu.j2.
//
// A config's numbers: block_m = 64 rows and block_n = 256 keys a tile; cluster = 2 blocks that
// share the head dims out; block_d = 64 columns of a K chunk, which takes two slots (a V chunk has
// 16 keys and takes one); num_stages slots in each of a block's two rings; num_warps = 12.
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
constexpr int kCluster = 2;
constexpr int kConsumers = 2;  // warpgroups
constexpr int kChunkD = 64;    // columns of a K chunk: whole lines of L2
constexpr int kNumWarps = 4 * (kConsumers + 1);
constexpr int kWarpSize = 32;
constexpr int kMinHeadDim = 513;                                        // of the larger head dim
constexpr int64_t kSharedBytes = 232448;                                // of a block
constexpr int64_t kSlotBytes = kBlockN / kConsumers * kChunkD * 2 / 2;  // half a chunk of K
constexpr int kMinStages = 6;   // what a tile's exchange takes to get on
constexpr int kMaxStages = 16;  // whose barriers have room
// Up to so many columns of O, a consumer's thread has 232 registers and a producer's 40; past it
// 240 and 24.
constexpr int kMaxColumnsOf232 = 224;
constexpr char kEntry[] = "ffpa_wgmma_halves";

int divide_up(int64_t value, int64_t by) { return static_cast<int>((value + by - 1) / by); }
int round_up(int value, int to) { return divide_up(value, to) * to; }

// Columns of O that a warpgroup owns.
int columns_of(const Problem& problem) {
  return round_up(divide_up(problem.head_dim_v, kCluster * kConsumers), 16);
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

// As in cuda/wgmma_halves_shared.cuh.
int64_t resident_bytes(const Problem& problem) {
  constexpr int kBarriers = 1024, kRows = 2 * 4 * kBlockM * 4;
  const int chunks = std::max(divide_up(problem.head_dim, 2 * kChunkD), 3);
  return (chunks + kBlockN / 64) * kBlockM * 128 + kBarriers + kRows;
}

int64_t shared_bytes(const Problem& problem, const KernelConfig& config) {
  return resident_bytes(problem) + kConsumers * config.num_stages * kSlotBytes;
}

int stages_that_fit(const Problem& problem) {
  constexpr int64_t kPairs = 2 * kConsumers * kSlotBytes;
  return static_cast<int>((kSharedBytes - resident_bytes(problem)) / kPairs) * 2;
}

void check_config(const Problem& problem, const KernelConfig& config) {
  const auto refuse = [&](std::string_view rule) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "family wgmma cannot build config '{}' for '{}': {}; leave the config out to take "
                "the default",
                text_of(config), text_of(problem), rule);
  };
  if (config.block_m != kBlockM || config.block_n != kBlockN || config.num_warps != kNumWarps) {
    refuse(fmt::format("past head dim 512, block_m is {}, block_n {} and num_warps {}", kBlockM,
                       kBlockN, kNumWarps));
  }
  if (config.block_d != kChunkD) refuse(fmt::format("block_d is {}", kChunkD));
  if (config.split_kv != 0) refuse("it does not split keys");
  if (config.cluster != kCluster) refuse(fmt::format("cluster is {}", kCluster));
  if (config.num_stages < kMinStages || config.num_stages > kMaxStages ||
      config.num_stages % 2 != 0) {
    refuse(fmt::format("num_stages is an even number from {} to {}", kMinStages, kMaxStages));
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

class Halves final : public WgmmaSchedule {
 public:
  bool covers(const Problem& problem) const override {
    return std::max(problem.head_dim, problem.head_dim_v) >= kMinHeadDim;
  }

  std::optional<std::string> refuses(const Problem& problem) const override {
    return lacks(problem, {Feature::kScoreModifier, Feature::kSinks, Feature::kSeqlensK});
  }

  KernelConfig default_config(const Problem& problem, const Shape&,
                              const DeviceInfo&) const override {
    KernelConfig config;
    config.block_m = kBlockM;
    config.block_n = kBlockN;
    config.num_warps = kNumWarps;
    config.cluster = kCluster;
    config.block_d = kChunkD;
    config.num_stages = std::min(stages_that_fit(problem), kMaxStages);
    return config;
  }

  SearchSpace search_space(const Problem&, const Shape&, const DeviceInfo&,
                           TuneMode) const override {
    return {{{&KernelConfig::num_stages, {6, 8, 10}}}};
  }

  void plan(const Problem& problem, const KernelConfig& config, const DeviceInfo&,
            Plan& plan) const override {
    check_config(problem, config);
    plan.steps.push_back(forward_step(problem, config));
  }

 private:
  static PlanStep forward_step(const Problem& problem, const KernelConfig& config) {
    PlanStep step;
    step.template_name = "cuda/wgmma_halves.cu.j2";
    step.entry = kEntry;
    step.context["entry"] = kEntry;
    step.context["compute_capability"] = 90;
    set_problem(step.context, problem);
    step.context["heads_packed"] = heads_packed(problem);
    step.context["chunk_d"] = config.block_d;
    step.context["num_stages"] = config.num_stages;
    step.context["columns"] = columns_of(problem);
    step.context["v_block"] = v_layout(problem).block;
    step.context["v_whole"] = v_layout(problem).whole;
    const bool few = columns_of(problem) <= kMaxColumnsOf232;
    step.context["consumer_registers"] = few ? 232 : 240;
    step.context["producer_registers"] = few ? 40 : 24;
    step.geometry = [packed = heads_packed(problem),
                     bytes = shared_bytes(problem, config)](const Shape& shape) {
      const int64_t blocks = divide_up(shape.seqlen_q, kBlockM / packed) * shape.batch *
                             (shape.heads_q / packed) * kCluster;
      if (blocks > std::numeric_limits<int32_t>::max()) {
        throw_error(FFPA_JIT_UNSUPPORTED,
                    "'{}' takes {} blocks of family wgmma; a launch has at most {}: use sdpa",
                    text_of(shape), blocks, std::numeric_limits<int32_t>::max());
      }
      LaunchGeometry geometry;
      geometry.grid.x = static_cast<uint32_t>(blocks);
      geometry.block.x = kNumWarps * kWarpSize;
      geometry.cluster.x = kCluster;
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
          v_tensor_map(problem, params, shape, config.block_d / 4, v.block);
      maps.add() =
          v.whole ? by_blocks(by_columns, v.block, columns_of(problem) / v.block) : by_columns;
      return maps;
    };
    return step;
  }
};

}  // namespace

const WgmmaSchedule& wgmma_halves() {
  static const Halves schedule;
  return schedule;
}

}  // namespace ffpa_jit
