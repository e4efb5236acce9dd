// Runtime::autotune: what FFPA_JIT_AUTOTUNE asks for, at the first call of a problem.
#include "base/error.h"
#include "runtime/local_workbench.h"
#include "runtime/runtime.h"
#include "tune/tuner.h"

namespace ffpa_jit {
namespace {

// A host waits for this: less time than `ffpa-jit tune` takes.
struct Effort {
  size_t candidates;
  double budget_s;
};
constexpr Effort effort_of(TuneMode mode) {
  return mode == TuneMode::kMax ? Effort{256, 30} : Effort{24, 3};
}

bool has_tensors(const AttentionCall& call) {
  const ForwardParams& p = call.params;
  return p.q && p.k && p.v && p.o;
}

}  // namespace

Tuning tuning_row(std::string_view family, const AttentionCall& call, const DeviceInfo& device,
                  const TuneResult& result) {
  const CandidateResult& winner = result.best();
  const CandidateResult& next = result.candidates[result.runner_up];
  Tuning row;
  row.key = tuning_key(family, call.problem, call.shape, device);
  row.family = family;
  row.config = text_of(winner.built.config);
  row.median_us = winner.time_us.median;
  row.spread_us = winner.time_us.spread;
  if (result.runner_up != result.winner) {
    row.runner_up = text_of(next.built.config);
    row.runner_up_us = next.time_us.median;
  }
  row.samples = winner.time_us.samples;
  row.library_version = library_version();
  row.driver_version = device.driver_version;
  return row;
}

void Runtime::autotune(const AttentionCall& call, const PlanRequest& request) {
  // On the emulator a time says nothing about the device it stands for.
  if (!has_tensors(call) || call.device.kind == TargetKind::kEmulator) return;
  try {
    const Route route = planner_.route(request);
    if (route.outcome != Outcome::kFamily) return;
    const KernelFamily& family = *route.family;
    if (const auto tuned = tuned_->find(family, call.problem, request.shape, request.device);
        tuned && tuned->distance == 0) {
      return;
    }
    const Effort effort = effort_of(*options_.autotune);
    const std::vector<KernelConfig> configs = candidates(
        family, call.problem, request.shape, request.device, *options_.autotune, effort.candidates);
    if (configs.size() < 2) return;
    LocalWorkbench bench(*this, call, family);
    TuneLimits limits;
    limits.budget_s = effort.budget_s;
    const TuneResult result = tune(bench, configs, limits);
    tuned_->put(tuning_row(family.name(), call, request.device, result));
    options_.log->info("tuned '{}': '{}' of {} configs: {}", text_of(call.problem),
                       text_of(result.best().built.config), configs.size(), result.reason);
  } catch (const Error& error) {
    options_.log->warn("'{}' could not be tuned, the default config serves: {}",
                       text_of(call.problem), error.what());
  }
}

}  // namespace ffpa_jit
