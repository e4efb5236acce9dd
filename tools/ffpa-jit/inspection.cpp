// Plans made and looked up, never compiled.
#include "ffpa-jit/inspection.h"

#include "api/attention_args.h"
#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "ffpa-jit/known_devices.h"
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

DeviceInfo device_for_target(const ffpa::Runtime& runtime, const std::string& text,
                             const std::string& device_name) {
  const Target target = parse_target(text);
  switch (target.kind) {
    case TargetKind::kCpu: {
      DeviceInfo info = inside(runtime).devices().open({TargetKind::kCpu, 0})->info();
      if (text != "cpu") info.target = target;
      return info;
    }
    case TargetKind::kCuda: {
      if (device_name.empty()) {
        for (DeviceInfo& here : list_cuda_devices(nullptr)) {
          if (here.target.compute_capability() != target.compute_capability()) continue;
          here.target = target;
          return here;
        }
      }
      return known_cuda_device(target, device_name);
    }
    case TargetKind::kEmulator: {
      if (target.compute_capability() == 0) break;
      return inside(runtime).devices().open(device_ref_of(target))->info();
    }
    case TargetKind::kHip:
      break;
  }
  throw_error(FFPA_JIT_UNSUPPORTED,
              "target {} is known, but this release has no kernels for it; allowed: cpu, "
              "cpu:LEVEL, sm_75 to sm_121a, emu:sm_75 to emu:sm_121a",
              text);
}

DeviceRef device_ref_of(const Target& target) {
  if (target.kind == TargetKind::kCuda) return {TargetKind::kCuda, 0};
  if (target.kind == TargetKind::kEmulator) {
    return {TargetKind::kEmulator, target.compute_capability()};
  }
  return {TargetKind::kCpu, 0};
}

std::string target_or_device_target(const std::string& target, const std::string& device_name) {
  return target.empty() ? known_device_target(device_name) : target;
}

}  // namespace ffpa_jit::cli
