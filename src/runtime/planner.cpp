#include "runtime/planner.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "codegen/emulated_templates.h"
#include "codegen/generator.h"
#include "plan/kernel_family.h"

namespace ffpa_jit {
namespace {

constexpr std::string_view kPreferredRule = "preferred";
constexpr double kFamilyLead = 1.03;

}  // namespace

Planner::Planner(const Environment& environment, Policy policy,
                 std::shared_ptr<const codegen::TemplateEngine> templates,
                 std::shared_ptr<TunedConfigs> tuned)
    : environment_(environment),
      policy_(policy),
      templates_(std::move(templates)),
      tuned_(std::move(tuned)),
      emulated_templates_(std::make_shared<codegen::EmulatedTemplates>(
          std::shared_ptr<const codegen::TemplateLoader>(templates_, &templates_->loader()))) {}

const codegen::TemplateEngine& Planner::templates_for(const Target& target) const {
  return target.kind == TargetKind::kEmulator ? emulated_templates_ : *templates_;
}

Route Planner::route(const PlanRequest& request) const {
  RouteRequest asked;
  asked.problem = request.problem;
  asked.shape = request.shape;
  asked.target = request.device.target;
  asked.tensors = request.tensors;
  asked.family = request.family;
  asked.policy = policy_;
  asked.has_host_fallback = request.has_host_fallback;
  Route route = ffpa_jit::route(asked, environment_, kernel_families());
  prefer_measured(request, route);
  return route;
}

void Planner::prefer_measured(const PlanRequest& request, Route& route) const {
  if (!tuned_ || route.rule != kPreferredRule) return;
  const auto measured = [&](const KernelFamily& family) -> std::optional<TunedConfig> {
    auto tuned = tuned_->find(family, request.problem, request.shape, request.device);
    if (tuned && tuned->distance != 0)
      return std::nullopt;  // of another problem: says nothing about families
    return tuned;
  };
  std::optional<TunedConfig> best = measured(*route.family);
  if (!best) return;
  const KernelFamily* const first = route.family;
  const double first_us = best->tuning.median_us;
  for (const KernelFamily* family : kernel_families()) {
    if (family == first || family->refuses(request.problem, request.device.target) ||
        family->refuses_tensors(request.problem, request.tensors)) {
      continue;
    }
    const std::optional<TunedConfig> other = measured(*family);
    // Both were measured in their own minutes: a small lead may be the device's mood.
    if (!other || other->tuning.median_us * kFamilyLead > best->tuning.median_us) continue;
    best = other;
    route.family = family;
  }
  if (route.family == first) return;
  route.reason = fmt::format("{} was measured to be faster here than {}: {:.1f} us, {:.1f} us",
                             route.family->name(), first->name(), best->tuning.median_us, first_us);
}

PlannedAttention Planner::plan(const PlanRequest& request) const {
  Route route = this->route(request);
  if (route.outcome == Outcome::kFallback) return {std::move(route), {}, {}, {}, 0};
  PlannedAttention planned = plan_with(*route.family, request);
  planned.route = std::move(route);
  return planned;
}

PlannedAttention Planner::plan_with(const KernelFamily& family, const PlanRequest& request) const {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  PlannedAttention planned;
  planned.route.family = &family;
  if (tuned_ && !request.config) {
    planned.tuned = tuned_->find(family, request.problem, request.shape, request.device);
  }
  const KernelConfig config =
      request.config  ? *request.config
      : planned.tuned ? planned.tuned->config
                      : family.default_config(request.problem, request.shape, request.device);
  planned.plan = family.plan(request.problem, config, request.device);
  for (const PlanStep& step : planned.plan.steps) {
    planned.sources.push_back(step.builtin ? KernelSource{}
                                           : codegen::generate(templates_for(request.device.target),
                                                               step.template_name, step.context,
                                                               step.entry, request.device.target));
  }
  planned.generate_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return planned;
}

}  // namespace ffpa_jit
