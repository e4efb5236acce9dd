// prepare, forward, forward, ...
#include "ffpa-jit/execution.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ffpa-jit/recorded_problem.h"
#include "ffpa-jit/session.h"

namespace ffpa_jit::cli {
Execution::Execution(const ffpa_jit_plan_info& info)
    : device(info.device),
      target(info.target),
      family(info.family),
      route(info.route),
      reason(info.reason),
      config(info.config),
      problem(info.problem),
      cache_hit(info.cache_hit != 0),
      workspace_bytes(info.workspace_bytes) {}

Json Execution::json() const {
  return Json{
      {"device", device},
      {"target", target},
      {"family", family},
      {"route", route},
      {"reason", reason},
      {"config", config},
      {"problem", problem},
      {"cache", cache_hit ? "hit" : "miss"},
      {"workspace_bytes", workspace_bytes},
      {"timings_ms",
       {{"generate", generate_ms}, {"compile", compile_ms}, {"load", load_ms}, {"run", run_ms}}}};
}

Execution Executor::prepare(const OnDevice& problem) {
  const ffpa::Plan plan = runtime_.prepare(problem.args());
  const ffpa_jit_plan_info info = plan.info();
  Execution out(info);
  // A plan that this process made before comes back with the times of its making, which this
  // problem did not cost.
  const bool first =
      prepared_
          .insert(fmt::format("{} {} {} {} {} {}", info.device, info.problem, info.config,
                              info.generate_ms, info.compile_ms, info.load_ms))
          .second;
  out.cache_hit = out.cache_hit || !first;
  if (first) {
    out.generate_ms = info.generate_ms;
    out.compile_ms = info.compile_ms;
    out.load_ms = info.load_ms;
  }
  return out;
}

Execution Executor::execute(OnDevice& problem, int repeats) {
  Execution out = prepare(problem);
  std::vector<double> times;
  for (int i = 0; i < std::max(1, repeats); ++i) {
    problem.poison();
    times.push_back(problem.time_ms([&] { runtime_.forward(problem.args()); }));
  }
  problem.fetch();
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  out.run_ms = times[times.size() / 2];
  out.repeats = static_cast<int>(times.size());
  return out;
}

std::shared_ptr<Device> copying_device(const ffpa::Runtime& runtime, const DeviceRef& device) {
  return device.kind == TargetKind::kCpu ? nullptr : inside(runtime).devices().open(device);
}

double forward_flops(const ffpa_jit_attention_args& args) {
  const int64_t right = args.is_causal ? 0 : args.window_right;
  const int last = args.q.rank - 1;
  const double per_pair = 2.0 * static_cast<double>(args.q.sizes[last] + args.v.sizes[last]);
  if (args.layout == FFPA_JIT_VARLEN) {
    const auto* q = static_cast<const int32_t*>(args.cu_seqlens_q.data);
    const auto* k = static_cast<const int32_t*>(args.cu_seqlens_k.data);
    double pairs = 0;
    for (int64_t b = 0; b + 1 < args.cu_seqlens_q.sizes[0]; ++b) {
      pairs += visible_pairs(q[b + 1] - q[b], k[b + 1] - k[b], args.window_left, right);
    }
    return per_pair * pairs * static_cast<double>(args.q.sizes[1]);
  }
  const int head = args.layout == FFPA_JIT_BHND ? 1 : 2, row = 3 - head;
  double pairs = 0;
  if (const auto* keys = static_cast<const int32_t*>(args.seqlens_k.data)) {
    for (int64_t b = 0; b < args.q.sizes[0]; ++b) {
      pairs += visible_pairs(args.q.sizes[row], keys[b], args.window_left, right);
    }
  } else {
    pairs = visible_pairs(args.q.sizes[row], args.k.sizes[row], args.window_left, right) *
            static_cast<double>(args.q.sizes[0]);
  }
  return per_pair * pairs * static_cast<double>(args.q.sizes[head]);
}

}  // namespace ffpa_jit::cli
