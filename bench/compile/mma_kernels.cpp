// Every default kernel of the mma family: how long it takes to compile, its registers, what it
// spills.
//
//   bench_compile [TARGET ...]      sm_80 sm_89 sm_90a sm_100a sm_120a by default
//
// One line a kernel, the slowest last of all, in milliseconds of processor time: what else the
// machine does matters little. Exit code 1 when one spills or takes longer than the budget. No GPU
// is needed; NVRTC is. FFPA_JIT_TEMPLATE_DIR and FFPA_JIT_NVRTC are heeded.
#include <fmt/format.h>

#include <ctime>
#include <string>
#include <vector>

#include "base/error.h"
#include "codegen/generator.h"
#include "codegen/template_loader.h"
#include "compile/compiler.h"
#include "plan/families/mma.h"
#include "policy/environment.h"

namespace ffpa_jit {
namespace {

constexpr double kBudgetMs = 1500;

struct Variant {
  std::string_view name;
  void (*apply)(Problem&);
  int64_t seqlen_q;
};
constexpr Variant kVariants[] = {
    {"plain", [](Problem&) {}, 4096},
    {"causal", [](Problem& p) { p.causal = p.window_right = p.lse = true; }, 4096},
    {"mask", [](Problem& p) { p.has_mask = true; }, 4096},
    {"bias", [](Problem& p) { p.has_bias = true; }, 4096},
    {"dropout", [](Problem& p) { p.dropout = true; }, 4096},
    {"decode", [](Problem& p) { p.gqa_group = 8; }, 1},
    {"paged", [](Problem& p) { p.gqa_group = 8, p.seqlens_k = true, p.page_size = 64; }, 1},
};

int run(const std::vector<std::string>& targets) {
  const Environment environment = Environment::read();
  CompilerSet compilers(null_logger(), {.nvrtc = environment.nvrtc});
  const codegen::TemplateEngine engine(codegen::default_templates(environment.template_dir));
  bool failed = false;
  double slowest_ms = 0;
  std::string slowest;
  for (const std::string& name : targets) {
    DeviceInfo device;
    device.target = parse_target(name);
    device.multiprocessors = 132;
    Compiler& compiler = compilers.for_target(device.target);
    for (int head_dim = 64; head_dim <= 1024; head_dim += 64) {
      for (const Variant& variant : kVariants) {
        Problem problem;
        problem.head_dim = problem.head_dim_v = head_dim;
        variant.apply(problem);
        Shape shape;
        shape.heads_kv = 4;
        shape.heads_q = 4 * problem.gqa_group;
        shape.seqlen_q = variant.seqlen_q;
        shape.seqlen_k = 4096;
        const KernelConfig config = mma_family().default_config(problem, shape, device);
        const Plan plan = mma_family().plan(problem, config, device);
        const PlanStep& step = plan.steps.front();
        const KernelSource source =
            codegen::generate(engine, step.template_name, step.context, step.entry, device.target);
        const std::clock_t start = std::clock();
        const KernelResources resources = compiler.compile(source, {}).resources;
        const double ms = 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        const std::string line = fmt::format("{:8} D={:4} {:8} {:6.0f} ms  {}  {}", name, head_dim,
                                             variant.name, ms, text_of(resources), text_of(config));
        fmt::print("{}\n", line);
        std::fflush(stdout);
        failed = failed || resources.spill_bytes > 0 || resources.local_bytes > 0 || ms > kBudgetMs;
        if (ms > slowest_ms) slowest_ms = ms, slowest = line;
      }
    }
  }
  fmt::print("slowest: {}\n", slowest);
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace ffpa_jit

int main(int argc, char** argv) {
  std::vector<std::string> targets(argv + 1, argv + argc);
  if (targets.empty()) targets = {"sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"};
  try {
    return ffpa_jit::run(targets);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_compile: {}\n", error.what());
    return 2;
  }
}
