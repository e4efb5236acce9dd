#include "plan/families/portable_cpu.h"

#include "base/error.h"
#include "plan/features.h"
#include "portable/attention.h"

namespace ffpa_jit {
namespace {

constexpr KernelConfig kConfig{.block_m = portable::kBlockM, .block_n = portable::kBlockN};

class PortableCpuFamily final : public KernelFamily {
 public:
  std::string_view name() const override { return "portable"; }

  std::optional<std::string> refuses(const Problem& problem, const Target& target) const override {
    if (target.kind != TargetKind::kCpu)
      return "it is compiled into the library and runs on the CPU only";
    return refused_by_all(problem);
  }

  KernelConfig default_config(const Problem&, const Shape&, const DeviceInfo&) const override {
    return kConfig;
  }

  Plan plan(const Problem& problem, const KernelConfig& config, const DeviceInfo&) const override {
    if (config != kConfig) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT,
                  "config is \"{}\"; the portable kernel has one: \"{}\"", text_of(config),
                  text_of(kConfig));
    }
    PlanStep step;
    step.entry = "portable_attention";
    step.builtin = portable::attention_kernel(problem);
    step.geometry = [scratch = portable::scratch_bytes(problem)](const Shape& shape) {
      const auto tiles = (shape.seqlen_q + portable::kBlockM - 1) / portable::kBlockM;
      LaunchGeometry geometry;
      geometry.grid = {static_cast<uint32_t>(tiles), static_cast<uint32_t>(shape.heads_q),
                       static_cast<uint32_t>(shape.batch)};
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

const KernelFamily& portable_cpu_family() {
  static const PortableCpuFamily family;
  return family;
}

}  // namespace ffpa_jit
