// The `sdpa` family on CUDA: one kernel, templates/cuda/sdpa_forward.cu.j2, fp32 arithmetic on CUDA
// cores. What other families refuse ends here, so that this one refuses only what no kernel of this
// library computes.
#include "plan/families/sdpa_cuda.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "plan/feature_context.h"
#include "plan/features.h"

namespace ffpa_jit {
namespace {

constexpr int kMinCapability = 75;
constexpr int kWarpSize = 32;
// Columns of O that one block accumulates in registers; wider heads are split over blocks.
constexpr int kMaxOutColumns = 512;
constexpr int kMaxOutRegisters = 128;  // per thread
constexpr int kMaxStaticSharedBytes = 48 * 1024;
constexpr char kEntry[] = "ffpa_sdpa_forward";

int divide_up(int64_t value, int64_t by) { return static_cast<int>((value + by - 1) / by); }
int round_up(int value, int to) { return divide_up(value, to) * to; }

// What a config means for one problem.
struct Tiling {
  int out_blocks;   // blocks side by side along head_dim_v
  int out_columns;  // columns of O in one of them
  int chunk;        // keys of one V step
  int blocks_per_multiprocessor;
};

int out_columns(const Problem& problem) {
  const int blocks = divide_up(problem.head_dim_v, kMaxOutColumns);
  return round_up(divide_up(problem.head_dim_v, blocks), kWarpSize);
}

Tiling tiling_of(const Problem& problem, const KernelConfig& config) {
  Tiling tiling;
  tiling.out_columns = out_columns(problem);
  tiling.out_blocks = divide_up(problem.head_dim_v, tiling.out_columns);
  // V takes the room that the Q and K slices leave, and at least 16 KiB.
  const int operand_floats =
      std::max((config.block_m + config.block_n) * (config.block_d + 4), 4096);
  tiling.chunk = config.block_n;
  while (tiling.chunk > 4 && tiling.chunk * tiling.out_columns > operand_floats) tiling.chunk /= 2;
  // The most blocks whose registers fit without spilling: 16-bit operands wait in half the
  // registers that fp32 ones need.
  const bool narrow = problem.dtype != DType::kFp32 && tiling.out_columns <= 96;
  tiling.blocks_per_multiprocessor = config.num_warps > 4 ? 1 : narrow ? 3 : 2;
  return tiling;
}

int64_t shared_bytes(const Tiling& tiling, const KernelConfig& config) {
  const int64_t slices = int64_t{config.block_m + config.block_n} * (config.block_d + 4);
  const int64_t values = int64_t{tiling.chunk} * tiling.out_columns;
  return 4 * (int64_t{config.block_m} * config.block_n + std::max(slices, values));
}

void check_config(const Problem& problem, const KernelConfig& config) {
  const auto refuse = [&](std::string_view rule) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "family sdpa on CUDA cannot build config '{}' for '{}': {}; leave the config out "
                "to take the default",
                text_of(config), text_of(problem), rule);
  };
  const auto power_of_two_in = [](int value, int low, int high) {
    return value >= low && value <= high && (value & (value - 1)) == 0;
  };
  if (!power_of_two_in(config.num_warps, 1, 16)) refuse("num_warps is 1, 2, 4, 8 or 16");
  if (!power_of_two_in(config.block_n, 32, 128)) refuse("block_n is 32, 64 or 128");
  if (config.block_d < 8 || config.block_d > 64 || config.block_d % 8 != 0) {
    refuse("block_d is a multiple of 8 from 8 to 64");
  }
  // One row a warp would do, but ptxas unrolls that kernel until it spills.
  if (config.block_m % config.num_warps != 0 ||
      !power_of_two_in(config.block_m / config.num_warps, 2, 8)) {
    refuse("block_m is 2, 4 or 8 rows for each warp");
  }
  if (config.num_stages != 0 || config.cluster != 0 || config.split_kv != 0) {
    refuse("it has no num_stages, cluster or split_kv");
  }
  const Tiling tiling = tiling_of(problem, config);
  if (config.block_m / config.num_warps * (tiling.out_columns / kWarpSize) > kMaxOutRegisters) {
    refuse(
        "the output rows of a warp pass 128 registers per thread: take fewer rows or more warps");
  }
  if (shared_bytes(tiling, config) > kMaxStaticSharedBytes)
    refuse("its tiles pass 48 KiB of shared memory");
}

class SdpaCuda final : public KernelFamily {
 public:
  std::string_view name() const override { return "sdpa"; }

  std::optional<std::string> refuses(const Problem& problem, const Target& target) const override {
    if (target.compute_capability() == 0) {
      return fmt::format("serves CUDA targets, not {}", text_of(target));
    }
    if (target.compute_capability() < kMinCapability) {
      return fmt::format("needs sm_{} or later, {} is older", kMinCapability, text_of(target));
    }
    return refused_by_all(problem);
  }

  KernelConfig default_config(const Problem& problem, const Shape& shape,
                              const DeviceInfo&) const override {
    struct Row {
      int max_seqlen_q, max_out_columns, block_m, num_warps;
    };
    constexpr int kAny = std::numeric_limits<int>::max();
    // Small blocks share a multiprocessor and hide each other's loads, as long as their rows' share
    // of O leaves registers; few queries need few rows.
    static constexpr Row kRows[] = {
        {7, kAny, 8, 4},
        {kAny, 128, 32, 4},
        {kAny, 256, 64, 8},
        {kAny, 512, 32, 8},
    };
    const int columns = out_columns(problem);
    const Row& row = *std::find_if(std::begin(kRows), std::end(kRows) - 1, [&](const Row& row) {
      return shape.seqlen_q <= row.max_seqlen_q && columns <= row.max_out_columns;
    });
    KernelConfig config;
    config.block_m = row.block_m;
    config.block_n = 64;
    config.block_d = std::min(32, round_up(problem.head_dim, 8));
    config.num_warps = row.num_warps;
    return config;
  }

  SearchSpace search_space(const Problem&, const Shape&, const DeviceInfo&,
                           TuneMode) const override {
    return {{{&KernelConfig::block_m, {8, 16, 32, 64, 128}},
             {&KernelConfig::block_n, {32, 64, 128}},
             {&KernelConfig::block_d, {8, 16, 32, 64}},
             {&KernelConfig::num_warps, {4, 8, 16}}}};
  }

  Plan plan(const Problem& problem, const KernelConfig& config,
            const DeviceInfo& device) const override {
    if (const auto reason = refuses(problem, device.target)) {
      throw_error(FFPA_JIT_UNSUPPORTED, "family sdpa cannot serve '{}' on {}: it {}",
                  text_of(problem), text_of(device.target), *reason);
    }
    check_config(problem, config);
    const Tiling tiling = tiling_of(problem, config);

    PlanStep step;
    step.template_name = "cuda/sdpa_forward.cu.j2";
    step.entry = kEntry;
    step.context["entry"] = kEntry;
    step.context["compute_capability"] = device.target.compute_capability();
    set_problem(step.context, problem);
    step.context["block_m"] = config.block_m;
    step.context["block_n"] = config.block_n;
    step.context["block_d"] = config.block_d;
    step.context["num_warps"] = config.num_warps;
    step.context["out_columns"] = tiling.out_columns;
    step.context["chunk"] = tiling.chunk;
    step.context["blocks_per_multiprocessor"] = tiling.blocks_per_multiprocessor;

    // One dimension, which reaches 2^31 - 1 where y and z end at 65535; the kernel strides over
    // what is left.
    step.geometry = [block_m = config.block_m, threads = config.num_warps * kWarpSize,
                     out_blocks = tiling.out_blocks](const Shape& shape) {
      const int64_t rows = (shape.seqlen_q + block_m - 1) / block_m;
      const int64_t tiles = rows * out_blocks * shape.batch * shape.heads_q;
      LaunchGeometry geometry;
      geometry.grid.x =
          static_cast<uint32_t>(std::min<int64_t>(tiles, std::numeric_limits<int32_t>::max()));
      geometry.block.x = static_cast<uint32_t>(threads);
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

const KernelFamily& sdpa_cuda_family() {
  static const SdpaCuda family;
  return family;
}

}  // namespace ffpa_jit
