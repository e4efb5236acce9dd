// Plans made and looked up, never compiled.
#include "ffpa-jit/inspection.h"

#include "api/attention_args.h"
#include "base/error.h"
#include "plan/shape_class.h"

namespace ffpa_jit::cli {

Json Inspection::json() const {
  Json out{
      {"device", device.text},
      {"target", text_of(device.target)},
      {"family", family},
      {"route", planned.route.rule},
      {"reason", planned.route.reason},
      {"config", config},
      {"tuning", planned.tuned ? planned.tuned->reason() : "none: the family's default config"},
      {"problem", text_of(problem)},
      {"shape", text_of(shape)},
      {"cache", cached ? "hit" : "miss"},
      {"kernels", keys},
      {"generate_ms", planned.generate_ms}};
  return out;
}

Inspection inspect(const ffpa::Runtime& runtime, const AttentionCall& call,
                   const DeviceInfo& device) {
  Runtime& r = inside(runtime);
  PlanRequest request;
  request.problem = call.problem;
  request.shape = canonical_shape(call.problem, call.shape);
  request.device = device;
  request.family = call.family;
  Inspection seen{call.problem, call.shape, device, r.planner().plan(request), {}, {}, {}, true};
  seen.family = seen.planned.plan.family;
  seen.config = text_of(seen.planned.plan.config);
  for (size_t i = 0; i < seen.planned.sources.size(); ++i) {
    if (seen.planned.plan.steps[i].builtin) {
      seen.keys.push_back("");
      continue;
    }
    seen.keys.push_back(KernelProvider::key_of(seen.planned.sources[i]).hex());
    seen.cached = seen.cached && r.kernels().find(seen.planned.sources[i]).has_value();
  }
  return seen;
}

Inspection inspect(const ffpa::Runtime& runtime, const ffpa_jit_attention_args& args) {
  const AttentionCall call = api::checked_call(args, api::Purpose::kPrepare);
  return inspect(runtime, call, inside(runtime).devices().open(call.device)->info());
}

std::unique_ptr<HostProblem> describe_problem(const ProblemSpec& spec, const DeviceRef& device) {
  auto problem = std::make_unique<HostProblem>();
  const DescribedProblem described(spec, device);
  described.call();
  problem->args = described.args();
  problem->family = spec.family;
  problem->args.family = problem->family.empty() ? nullptr : problem->family.c_str();
  problem->name = short_text(spec);
  return problem;
}

}  // namespace ffpa_jit::cli
