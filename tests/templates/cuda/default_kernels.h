// The kernels of a family's default plan, compiled by this machine's NVRTC: what the tests of
// CUDA plans say of them. No GPU is needed.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codegen/generator.h"
#include "codegen/template_loader.h"
#include "compile/local_compilers.h"
#include "plan/kernel_family.h"

namespace ffpa_jit::testing {

// Empty, and the test skipped, where no compiler builds for the device.
inline std::vector<KernelBinary> default_kernels(const KernelFamily& family, const Problem& problem,
                                                 const Shape& shape, const DeviceInfo& device) {
  static const codegen::TemplateEngine engine(codegen::default_templates({}));
  std::string reason;
  Compiler* compiler = test::local_compilers().find(device.target, &reason);
  std::vector<KernelBinary> kernels;
  if (!compiler) {
    [&] { GTEST_SKIP() << "no compiler for " << text_of(device.target) << ": " << reason; }();
    return kernels;
  }
  const Plan plan = family.plan(problem, family.default_config(problem, shape, device), device);
  for (const PlanStep& step : plan.steps) {
    kernels.push_back(compiler->compile(
        codegen::generate(engine, step.template_name, step.context, step.entry, device.target),
        {}));
  }
  return kernels;
}

// None spills, keeps anything in local memory, or has its wgmma serialised (ptxas says so).
inline std::vector<KernelBinary> expect_no_spills(const KernelFamily& family,
                                                  const Problem& problem, const Shape& shape,
                                                  const DeviceInfo& device) {
  std::vector<KernelBinary> kernels = default_kernels(family, problem, shape, device);
  for (const KernelBinary& kernel : kernels) {
    SCOPED_TRACE(text_of(problem) + ": " + text_of(kernel.resources));
    EXPECT_EQ(kernel.resources.spill_bytes, 0);
    EXPECT_EQ(kernel.resources.local_bytes, 0);
    EXPECT_LE(kernel.resources.registers, 255);
    EXPECT_THAT(kernel.log, ::testing::Not(::testing::HasSubstr("Performance Loss")));
  }
  return kernels;
}

}  // namespace ffpa_jit::testing
