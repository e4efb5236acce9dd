// Rendering one kernel's source, template already parsed. Budget: 2 ms.
#include <benchmark/benchmark.h>

#include <memory>

#include "codegen/generator.h"
#include "codegen/template_engine.h"
#include "codegen/template_loader.h"
#include "plan/kernel_family.h"
#include "policy/environment.h"
#include "runtime/planner.h"

namespace {

using namespace ffpa_jit;

void Render(benchmark::State& state, const char* target) {
  const auto engine = std::make_shared<const codegen::TemplateEngine>(
      std::make_shared<codegen::EmbeddedTemplates>());
  const Environment environment;
  const Planner planner(environment, Policy::kNative, engine);
  PlanRequest request;
  request.problem.dtype = DType::kBf16;
  request.problem.head_dim = request.problem.head_dim_v = 512;
  request.problem.causal = request.problem.window_right = true;
  request.problem.gqa_group = 4;
  request.device.target = parse_target(target);
  request.shape = {1, 32, 8, 8192, 8192, 8192, 8192};
  const PlannedAttention planned = planner.plan(request);
  const PlanStep& step = planned.plan.steps.at(0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(codegen::generate(*engine, step.template_name, step.context,
                                               step.entry, request.device.target));
  }
  state.counters["bytes"] = static_cast<double>(planned.sources.at(0).text.size());
}
BENCHMARK_CAPTURE(Render, cpu, "cpu:x86-64-v4-bf16")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Render, cuda, "sm_90a")->Unit(benchmark::kMicrosecond);

}  // namespace
