#include "templates/cpu/kernel_under_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "api/attention_args.h"
#include "codegen/generator.h"
#include "compile/local_compilers.h"
#include "device/cpu/kernel_image.h"
#include "plan/families/sdpa_cpu.h"
#include "plan/shape_class.h"

namespace ffpa_jit::testing {
namespace {

using Kernel = void (*)(const ForwardParams*, unsigned x, unsigned y, unsigned z, void* scratch);

struct Built {
  AttentionCall call;
  PlanStep step;
  KernelBinary binary;
};

std::string text_of_file(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const codegen::TemplateEngine& engine() {
  static const codegen::TemplateEngine engine(codegen::default_templates({}));
  return engine;
}

Built build(const ffpa_jit_attention_args& args, const KernelOptions& options) {
  Built built;
  ffpa_jit_attention_args on_cpu = args;
  on_cpu.device_kind = FFPA_JIT_CPU;
  built.call = api::checked_call(on_cpu, api::Purpose::kLaunch);
  DeviceInfo device;
  device.target = {TargetKind::kCpu, options.level};
  device.multiprocessors = 2;
  device.shared_bytes_per_block = 1 << 20;
  const KernelFamily& family = sdpa_cpu_family();
  const Problem& problem = built.call.problem;
  const KernelConfig config = options.config.value_or(
      family.default_config(problem, canonical_shape(problem, built.call.shape), device));
  const Plan plan = family.plan(problem, config, device);
  built.step = plan.steps.at(0);

  KernelSource source = codegen::generate(engine(), built.step.template_name, built.step.context,
                                          built.step.entry, device.target);
  if (options.emulate_amx) {
    source.text = text_of_file(AMX_EMULATION) + source.text;
    source.target.arch = "x86-64-v4-bf16";
  }
  built.binary = cpu_compiler(nullptr)->compile(source, {});
  return built;
}

}  // namespace

Compiler* cpu_compiler(std::string* reason) {
  return test::local_compilers().find({TargetKind::kCpu, "x86-64"}, reason);
}

bool host_runs(const std::string& level) {
  static const std::vector<std::string> levels = {"x86-64", "x86-64-v3", "x86-64-v4",
                                                  "x86-64-v4-bf16", "x86-64-v4-amx"};
  const auto place = [&](const std::string& arch) {
    return std::find(levels.begin(), levels.end(), arch) - levels.begin();
  };
  return place(level) <= place(host_cpu_target().arch);
}

void run_kernel(const ffpa_jit_attention_args& args, const KernelOptions& options) {
  const Built built = build(args, options);
  const KernelImage image(built.binary.bytes, built.step.entry);
  const auto kernel = reinterpret_cast<Kernel>(image.entry());
  const LaunchGeometry geometry = built.step.geometry(built.call.shape);

  constexpr size_t kCanaryBytes = 256;
  constexpr unsigned char kCanary = 0xa5;
  const size_t bytes = geometry.dynamic_shared_bytes;
  std::vector<unsigned char> memory(bytes + kCanaryBytes + 64);
  void* aligned = memory.data();
  size_t space = memory.size();
  auto* scratch = static_cast<unsigned char*>(std::align(64, bytes + kCanaryBytes, aligned, space));
  std::fill_n(scratch + bytes, kCanaryBytes, kCanary);
  for (unsigned z = 0; z < geometry.grid.z; ++z) {
    for (unsigned y = 0; y < geometry.grid.y; ++y) {
      for (unsigned x = 0; x < geometry.grid.x; ++x) {
        std::fill_n(scratch, bytes, 0xff);
        kernel(&built.call.params, x, y, z, scratch);
      }
    }
  }
  EXPECT_TRUE(std::all_of(scratch + bytes, scratch + bytes + kCanaryBytes, [](unsigned char c) {
    return c == kCanary;
  })) << "scratch memory was overrun";
}

size_t compile_kernel(const ffpa_jit_attention_args& args, const KernelOptions& options) {
  return build(args, options).binary.bytes.size();
}

}  // namespace ffpa_jit::testing
