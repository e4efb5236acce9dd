// Planner: from a problem to generated source, for a device that need not be present. Route, plan
// and generate of the line that data follows; compiling and loading come after.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/template_engine.h"
#include "kernel/kernel_source.h"
#include "plan/plan.h"
#include "policy/environment.h"
#include "policy/routing.h"
#include "tune/tuned_configs.h"

namespace ffpa_jit {

struct PlanRequest {
  Problem problem;
  Shape shape;  // any shape of the class to plan for
  DeviceInfo device;
  TensorFacts tensors;
  std::string family;  // forced; empty: routed
  bool has_host_fallback = false;
  std::optional<KernelConfig> config;  // forced; empty: tuned, else the family's default
};

struct PlannedAttention {
  Route route;
  Plan plan;                          // empty when the route goes to the host's callback
  std::vector<KernelSource> sources;  // one per step; an empty text for a built-in kernel
  std::optional<TunedConfig> tuned;   // where the config comes from, if from a tuning
  double generate_ms = 0;
};

class Planner {
 public:
  // `tuned` may be null: every config is then the family's default.
  Planner(const Environment& environment, Policy policy,
          std::shared_ptr<const codegen::TemplateEngine> templates,
          std::shared_ptr<TunedConfigs> tuned = nullptr);

  // The rules' choice, or, where preference alone decided, the family that tunings of this very
  // problem say is faster.
  Route route(const PlanRequest& request) const;
  // Throws INVALID_ARGUMENT, UNSUPPORTED (a forbidden fall-back, an unknown family),
  // TEMPLATE_ERROR.
  PlannedAttention plan(const PlanRequest& request) const;
  // The same for one family, whatever routing says.
  PlannedAttention plan_with(const KernelFamily& family, const PlanRequest& request) const;
  // What sources for `target` are rendered by.
  const codegen::TemplateEngine& templates_for(const Target& target) const;

 private:
  void prefer_measured(const PlanRequest& request, Route& route) const;

  const Environment& environment_;
  Policy policy_;
  std::shared_ptr<const codegen::TemplateEngine> templates_;
  std::shared_ptr<TunedConfigs> tuned_;
  codegen::TemplateEngine emulated_templates_;  // the same templates for emulated targets
};

}  // namespace ffpa_jit
