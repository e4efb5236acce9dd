// The `wgmma` family's schedule for head dims from 353 to 512, and from 257 where
// cuda/wgmma_rows.cu.j2 lacks registers: templates/cuda/wgmma_columns.cu.j2.
//
// A config's numbers: block_m = 64 rows and block_n = 256 keys a tile; block_d columns of a K
// chunk, 32 or 64 (a V chunk has half as many keys); num_stages chunks in each of the two rings;
// num_warps = 12; cluster: 0, or 2 blocks that share loads. Past 384 columns of O, where masks and
// the like need registers, a cluster shares these columns out; otherwise its blocks have
// neighbouring rows. split_kv: of what is left after whole waves of blocks, so many may share
// a tile's keys.
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

constexpr int kBlockM = 64;
constexpr int kBlockN = 256;
constexpr int kConsumers = 2;  // warpgroups
constexpr int kNumWarps = 4 * (kConsumers + 1);
constexpr int kWarpSize = 32;
constexpr int kMinHeadDim = 257;          // of the larger head dim
constexpr int64_t kSharedBytes = 232448;  // of a block
constexpr int kPageBytes = 1024;          // barriers and statistics behind a ring
constexpr int kMaxStages = 8;             // whose barriers a page has room for
// Up to so many columns of O, a consumer's thread has 232 registers and a producer's 40; past it
// 240 and 24.
constexpr int kMaxColumnsOf232 = 224;
constexpr int kMostParts = 8;
constexpr int kKeysOfRule = 80;  // of a tile that rows_work() is for
constexpr char kEntry[] = "ffpa_wgmma_columns";

int divide_up(int64_t value, int64_t by) { return static_cast<int>((value + by - 1) / by); }
int round_up(int value, int to) { return divide_up(value, to) * to; }

bool has_marks(const Problem& problem) { return problem.has_mask || problem.has_bias; }

// How much a problem does to its scores, in registers that S and O leave to it.
int score_changes(const Problem& problem) {
  return has_marks(problem) + problem.dropout + problem.softcap + !problem.score_modifier.empty() +
         2 * problem.window_left;
}
constexpr int kMaxScoreChanges = 2;
constexpr int kMaxColumnsOfTight = 192;
constexpr int kMarkStages = 2;    // slots of each consumer for masks and biases
constexpr int kKeysOfMarks = 32;  // in such a slot, a quarter of a consumer's

// Whether O may have only kMaxColumnsOfTight columns of a warpgroup.
bool is_tight(const Problem& problem) {
  const bool windowed = problem.causal || problem.window_left || problem.window_right;
  const bool both = problem.has_mask && problem.has_bias;
  return score_changes(problem) >= kMaxScoreChanges || (problem.dropout && problem.lse) ||
         (has_marks(problem) &&
          (windowed || both || problem.layout == Layout::kVarlen || problem.seqlens_k));
}

// Whether the blocks of a cluster share the columns of O out, which leaves more registers.
bool splits_columns(const Problem& problem) {
  return is_tight(problem) && problem.head_dim_v > kConsumers * kMaxColumnsOfTight;
}

// Columns of O that a warpgroup owns.
int columns_of(const Problem& problem) {
  const int owners = kConsumers * (splits_columns(problem) ? 2 : 1);
  const int least = divide_up(problem.head_dim_v, owners);
  // Whole blocks of V, where the head dim is of such (see v_layout()) and they are not much more.
  for (int block : {64, 32}) {
    const int whole = round_up(least, block);
    if (problem.head_dim_v % block == 0 && 7 * whole < 8 * least) return whole;
  }
  return round_up(least, 16);
}

// How V lies in shared memory: in blocks of `block` columns. Where the head dim and every owner's
// columns are whole blocks, a chunk is one copy by a map that counts blocks, zeros past the last;
// otherwise one for each block, clipped at the head dim.
struct VLayout {
  int block;
  bool whole;
};

VLayout v_layout(const Problem& problem) {
  for (int block : {64, 32}) {
    if (problem.head_dim_v % block == 0 && columns_of(problem) % block == 0) return {block, true};
  }
  return {64, false};
}

// Query heads of a kv head that share a tile, which has 64 / so many query positions.
int heads_packed(const Problem& problem) { return std::gcd(problem.gqa_group, kBlockM); }

// Where the cluster's blocks each have all of Q K^T to compute, Q is loaded again with every chunk
// of K: it would take the room that the rings need.
bool q_streams(const Problem& problem) { return splits_columns(problem); }

// As in cuda/wgmma_columns_shared.cuh.
int64_t slot_bytes(const Problem& problem, const KernelConfig& config) {
  const VLayout v = v_layout(problem);
  const int64_t k_bytes =
      kBlockN / kConsumers * config.block_d * 2 + (q_streams(problem) ? kBlockM * 128 : 0);
  const int64_t v_bytes =
      divide_up(columns_of(problem), v.block) * (config.block_d / 2) * v.block * 2;
  return divide_up(std::max(k_bytes, v_bytes), 1024) * 1024;
}

// Of masks and biases, as in cuda/wgmma_columns_marks.cuh.
int64_t mark_bytes(const Problem& problem) {
  const int packed = heads_packed(problem);
  const auto of_slot = [&](const BroadcastPattern& pattern, DType dtype) {
    const int rows = (pattern.query ? kBlockM / packed : 1) * (pattern.head ? packed : 1);
    return int64_t{round_up(rows * kKeysOfMarks * static_cast<int>(bytes_of(dtype)), 1024)};
  };
  int64_t bytes = 0;
  if (problem.has_mask) bytes += of_slot(problem.mask_pattern, DType::kBool);
  if (problem.has_bias) bytes += of_slot(problem.bias_pattern, problem.bias_dtype);
  return kConsumers * kMarkStages * bytes;
}

int64_t resident_bytes(const Problem& problem, const KernelConfig& config) {
  const int chunks = std::max(divide_up(problem.head_dim, config.block_d), 3);
  const int64_t q_blocks = q_streams(problem) ? 0 : divide_up(chunks * config.block_d, 64);
  return (q_blocks + kBlockN / 64) * kBlockM * 128 + kConsumers * kPageBytes + mark_bytes(problem);
}

int64_t shared_bytes(const Problem& problem, const KernelConfig& config) {
  return resident_bytes(problem, config) +
         kConsumers * config.num_stages * slot_bytes(problem, config);
}

int stages_that_fit(const Problem& problem, const KernelConfig& config) {
  const int64_t ring = kConsumers * slot_bytes(problem, config);
  return std::min(static_cast<int>((kSharedBytes - resident_bytes(problem, config)) / ring),
                  kMaxStages);
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
  if (config.split_kv < 0 || config.split_kv > kMostParts) {
    refuse(fmt::format("split_kv is at most {}", kMostParts));
  }
  if (splits_columns(problem) ? config.cluster != 2 : config.cluster != 0 && config.cluster != 2) {
    refuse("cluster is 0 or 2, and 2 where it shares out the columns of V");
  }
  if (config.split_kv > 1 && config.cluster != 0)
    refuse("split_kv is for blocks without a cluster");
  if (config.num_stages < 2 || config.num_stages > kMaxStages) {
    refuse(fmt::format("num_stages is 2 to {}", kMaxStages));
  }
  if (shared_bytes(problem, config) > kSharedBytes) {
    refuse(fmt::format("its tiles take {} bytes of shared memory, a block has {}",
                       shared_bytes(problem, config), kSharedBytes));
  }
}

// How a shape's tiles are dealt out.
struct Work {
  Problem problem;
  KernelConfig config;
  int multiprocessors;

  int cluster() const { return std::max(config.cluster, 1); }
  int parts() const { return std::max(config.split_kv, 1); }

  RowsWork of(const Shape& shape) const {
    const int packed = heads_packed(problem);
    const int64_t positions = kBlockM / packed * (splits_columns(problem) ? 1 : cluster());
    const int64_t tiles =
        divide_up(shape.seqlen_q, positions) * shape.batch * (shape.heads_q / packed);
    const int64_t most = std::numeric_limits<int32_t>::max() / (cluster() * kMostParts);
    if (tiles > most) {
      throw_error(FFPA_JIT_UNSUPPORTED,
                  "'{}' takes {} tiles of family wgmma, which counts up to {}: use sdpa",
                  text_of(shape), tiles, most);
    }
    if (parts() == 1) return {static_cast<int>(tiles), 0, 1};
    // As work_of() in cuda/wgmma_columns_tile.cuh.
    const int kv_tiles = problem.layout == Layout::kVarlen
                             ? 1
                             : divide_up(shape.seqlen_k, kBlockN) * (kBlockN / kKeysOfRule);
    return rows_work(static_cast<int>(tiles), kv_tiles, multiprocessors / cluster(), parts());
  }
  int blocks(const Shape& shape) const { return of(shape).items() * cluster(); }
  size_t workspace_bytes(const Shape& shape) const {
    const RowsWork work = of(shape);
    const int warpgroups = kConsumers * cluster();
    const int64_t parts = int64_t{work.shared} * work.parts * warpgroups;
    if (parts == 0) return 0;
    return static_cast<size_t>(kRowsCounterBytes + rows_words_bytes(work, warpgroups) +
                               parts * rows_part_floats(columns_of(problem)) * 4);
  }
};

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

  bool loads_marks() const override { return true; }

  std::optional<std::string> refuses(const Problem& problem) const override {
    if (score_changes(problem) > kMaxScoreChanges) {
      return "has registers from head dim 257 to 512 for two of mask or bias, dropout, softcap and "
             "score modifier, or for a left window";
    }
    return lacks(problem, {Feature::kScoreModifier, Feature::kSinks, Feature::kSeqlensK});
  }

  // Keys of tiles are shared out where there are fewer of these than multiprocessors. Measured on
  // an H200, what whole waves leave over is not worth it: the power limit lets the rest run faster.
  // Chunks of 16 KiB where at least four of them fit a ring, smaller ones otherwise. When causal,
  // neighbouring rows read the same keys: a cluster halves what comes from L2, which else is the
  // bound.
  KernelConfig default_config(const Problem& problem, const Shape& shape,
                              const DeviceInfo& device) const override {
    KernelConfig config;
    config.block_m = kBlockM;
    config.block_n = kBlockN;
    config.num_warps = kNumWarps;
    config.block_d = 64;
    if (!q_streams(problem) && stages_that_fit(problem, config) < 4) config.block_d = 32;
    config.num_stages = stages_that_fit(problem, config);
    const int packed = heads_packed(problem);
    const int64_t tiles = int64_t{divide_up(shape.seqlen_q, kBlockM / packed)} * shape.batch *
                          (shape.heads_q / packed);
    if (!splits_columns(problem) && problem.layout != Layout::kVarlen &&
        tiles < device.multiprocessors && score_changes(problem) == 0) {
      config.split_kv = kMostParts;
    } else if (splits_columns(problem) || is_windowed(problem) || columns_of(problem) <= 160) {
      config.cluster = 2;
    }
    return config;
  }

  SearchSpace search_space(const Problem&, const Shape&, const DeviceInfo&,
                           TuneMode) const override {
    return {{{&KernelConfig::block_d, {32, 64}},
             {&KernelConfig::num_stages, {2, 3, 4, 5, 6, 7, 8}},
             {&KernelConfig::cluster, {0, 2}},
             {&KernelConfig::split_kv, {0, kMostParts}}}};
  }

  void plan(const Problem& problem, const KernelConfig& config, const DeviceInfo& device,
            Plan& plan) const override {
    check_config(problem, config);
    const Work work{problem, config, std::max(device.multiprocessors, 1)};
    plan.steps.push_back(forward_step(problem, config, work));
    plan.workspace_bytes = [work](const Shape& shape) { return work.workspace_bytes(shape); };
  }

 private:
  static PlanStep forward_step(const Problem& problem, const KernelConfig& config,
                               const Work& work) {
    const bool by_columns = splits_columns(problem);
    PlanStep step;
    step.template_name = "cuda/wgmma_columns.cu.j2";
    step.entry = kEntry;
    step.context["entry"] = kEntry;
    step.context["compute_capability"] = 90;
    set_problem(step.context, problem);
    step.context["heads_packed"] = heads_packed(problem);
    step.context["chunk_d"] = config.block_d;
    step.context["num_stages"] = config.num_stages;
    step.context["cluster"] = work.cluster();
    step.context["splits"] = by_columns ? "columns" : "rows";
    step.context["columns"] = columns_of(problem);
    step.context["v_block"] = v_layout(problem).block;
    step.context["v_whole"] = v_layout(problem).whole;
    step.context["q_streams"] = q_streams(problem);
    if (has_marks(problem)) {
      step.context["mask_by_row"] = problem.mask_pattern.query;
      step.context["mask_by_head"] = problem.mask_pattern.head;
      step.context["bias_by_row"] = problem.bias_pattern.query;
      step.context["bias_by_head"] = problem.bias_pattern.head;
    }
    const bool few = columns_of(problem) <= kMaxColumnsOf232;
    step.context["consumer_registers"] = few ? 232 : 240;
    step.context["producer_registers"] = few ? 40 : 24;
    step.context["multiprocessors"] = work.multiprocessors;
    step.context["most_parts"] = work.parts();
    step.geometry = [work, bytes = shared_bytes(problem, config)](const Shape& shape) {
      LaunchGeometry geometry;
      geometry.grid.x = static_cast<uint32_t>(work.blocks(shape));
      geometry.block.x = kNumWarps * kWarpSize;
      if (work.cluster() > 1) geometry.cluster.x = static_cast<uint32_t>(work.cluster());
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
      const auto packed_rows = [&](TensorMapSpec map, const BroadcastPattern& pattern) {
        map.box[1] = pattern.query ? static_cast<uint32_t>(kBlockM / packed) : 1;
        map.box[2] = pattern.head ? static_cast<uint32_t>(packed) : 1;
        return map;
      };
      if (problem.has_mask) {
        TensorMapSpec map = mask_tensor_map(problem, params, shape, kKeysOfMarks);
        map.swizzle = TensorSwizzle::k32Bytes;
        maps.add() = packed_rows(map, problem.mask_pattern);
      }
      if (problem.has_bias) {
        TensorMapSpec map = bias_tensor_map(problem, params, shape, kKeysOfMarks);
        map.swizzle =
            problem.bias_dtype == DType::kFp32 ? TensorSwizzle::k128Bytes : TensorSwizzle::k64Bytes;
        maps.add() = packed_rows(map, problem.bias_pattern);
      }
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
