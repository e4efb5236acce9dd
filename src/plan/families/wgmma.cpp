// The `wgmma` family: what its schedules have in common, and which of them plans a problem.
#include "plan/families/wgmma.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "plan/families/wgmma_schedule.h"
#include "plan/features.h"

namespace ffpa_jit {
namespace {

constexpr int kLargestHeadDim = 1024;
constexpr int kCapability = 90;
constexpr int64_t kFewQueries = 8;  // below, mma packs the heads of a group and splits the keys

const WgmmaSchedule* schedule_of(const Problem& problem) {
  static const std::array schedules = {&wgmma_rows(), &wgmma_halves(), &wgmma_columns()};
  for (const WgmmaSchedule* schedule : schedules) {
    if (schedule->covers(problem)) return schedule;
  }
  return nullptr;
}

class Wgmma final : public KernelFamily {
 public:
  std::string_view name() const override { return "wgmma"; }

  std::optional<std::string> refuses(const Problem& problem, const Target& target) const override {
    if (target.compute_capability() != kCapability || !target.arch.ends_with('a')) {
      return fmt::format("serves sm_90a, not {}", text_of(target));
    }
    if (problem.direction != Direction::kForward) return "has a forward kernel only";
    if (problem.dtype != DType::kFp16 && problem.dtype != DType::kBf16) {
      return fmt::format("computes fp16 and bf16 on tensor cores, not {}", name_of(problem.dtype));
    }
    for (int head_dim : {problem.head_dim, problem.head_dim_v}) {
      if (head_dim < 8 || head_dim > kLargestHeadDim || head_dim % 8 != 0) {
        return fmt::format("head dim {} is not a multiple of 8 from 8 to {}", head_dim,
                           kLargestHeadDim);
      }
    }
    if (problem.has_bias && problem.bias_dtype != DType::kFp32 &&
        problem.bias_dtype != problem.dtype) {
      return fmt::format("a bias is fp32 or {}, not {}", name_of(problem.dtype),
                         name_of(problem.bias_dtype));
    }
    const WgmmaSchedule* schedule = schedule_of(problem);
    if (!schedule) {
      return fmt::format("has no schedule for head dims {} and {}", problem.head_dim,
                         problem.head_dim_v);
    }
    return schedule->refuses(problem);
  }

  std::optional<std::string> refuses_tensors(const Problem& problem,
                                             const TensorFacts& tensors) const override {
    if (!tensors.tma) {
      return "loads by TMA, which needs addresses and strides of Q, K and V that are multiples of "
             "16 bytes, and positive strides";
    }
    const WgmmaSchedule* schedule = schedule_of(problem);
    if (!tensors.marks_tma && schedule && schedule->loads_marks()) {
      return "loads masks and biases by TMA, which needs an address and strides of rows, heads and "
             "batch entries that are multiples of 16 bytes, and keys that lie together";
    }
    return std::nullopt;
  }

  std::optional<std::string> defers(const Problem&, const Shape& shape) const override {
    if (shape.seqlen_q >= kFewQueries) return std::nullopt;
    return fmt::format("leaves fewer than {} queries to families that split the keys", kFewQueries);
  }

  KernelConfig default_config(const Problem& problem, const Shape& shape,
                              const DeviceInfo& device) const override {
    const WgmmaSchedule* schedule = schedule_of(problem);
    return schedule ? schedule->default_config(problem, shape, device) : KernelConfig{};
  }

  SearchSpace search_space(const Problem& problem, const Shape& shape, const DeviceInfo& device,
                           TuneMode mode) const override {
    const WgmmaSchedule* schedule = schedule_of(problem);
    return schedule ? schedule->search_space(problem, shape, device, mode) : SearchSpace{};
  }

  Plan plan(const Problem& problem, const KernelConfig& config,
            const DeviceInfo& device) const override {
    if (const auto reason = refuses(problem, device.target)) {
      throw_error(FFPA_JIT_UNSUPPORTED, "family wgmma cannot serve '{}' on {}: it {}",
                  text_of(problem), text_of(device.target), *reason);
    }
    Plan plan;
    plan.family = name();
    plan.config = config;
    schedule_of(problem)->plan(problem, config, device, plan);
    return plan;
  }
};

}  // namespace

const KernelFamily& wgmma_family() {
  static const Wgmma family;
  return family;
}

}  // namespace ffpa_jit
