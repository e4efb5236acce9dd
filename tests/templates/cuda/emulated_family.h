// What one family computes on emulated devices, through the C ABI, held against the fp64 reference.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "api/temporary_runtime.h"
#include "ffpa_jit/ffpa_jit.h"
#include "reference/attention_reference.h"
#include "reference/comparison.h"
#include "templates/cuda/attention_case.h"

namespace ffpa_jit::testing {

class EmulatedFamily : public ::testing::Test {
 protected:
  static constexpr int kCapability = 90;  // where a test names none

  explicit EmulatedFamily(const char* family) : family_(family) {}

  ffpa_jit_status forward(const ffpa_jit_attention_args& args, int capability = kCapability) {
    return forward(args, family_, capability);
  }
  ffpa_jit_status forward(ffpa_jit_attention_args args, const char* family,
                          int capability = kCapability) {
    args.device_kind = FFPA_JIT_EMULATED_CUDA;
    args.device_index = capability;
    args.family = family;
    return ffpa_jit_attention_forward(runtime_, &args);
  }

  // Which family would serve.
  std::string family_of(ffpa_jit_attention_args args) {
    args.device_kind = FFPA_JIT_EMULATED_CUDA;
    args.device_index = kCapability;
    ffpa_jit_plan* plan = nullptr;
    if (ffpa_jit_attention_prepare(runtime_, &args, &plan) != FFPA_JIT_OK) {
      return ffpa_jit_last_error();
    }
    ffpa_jit_plan_info info{};
    info.struct_size = sizeof(info);
    EXPECT_EQ(ffpa_jit_plan_get_info(plan, &info), FFPA_JIT_OK);
    const std::string family = info.family;
    ffpa_jit_plan_destroy(plan);
    return family;
  }

  // Of 16-bit elements: fp32 stands for bf16.
  void expect_right(CaseSpec spec, uint64_t seed, int capability = kCapability) {
    if (IsSkipped()) return;
    if (spec.dtype == FFPA_JIT_FP32) spec.dtype = FFPA_JIT_BF16;
    AttentionCase problem(spec, seed);
    expect_right(problem.args(), spec, problem, capability);
  }

  // `args`: those of `problem`, some of them changed.
  void expect_right(const ffpa_jit_attention_args& args, const CaseSpec& spec,
                    AttentionCase& problem, int capability = kCapability) {
    problem.poison_output();
    const ffpa_jit_status status = forward(args, capability);
    if (status == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << ffpa_jit_last_error();
    ASSERT_EQ(status, FFPA_JIT_OK) << ffpa_jit_last_error();
    const auto reference = reference::attention_reference(args);
    const auto plain = reference::plain_attention(args);
    const auto result = reference::read_result(args);
    const DType dtype = spec.dtype == FFPA_JIT_FP16 ? DType::kFp16 : DType::kBf16;
    EXPECT_LE(reference::relative_error(result.o, reference.o),
              reference::error_bar(reference::relative_error(plain.o, reference.o), dtype,
                                   reference.lse.size()));
    if (!spec.lse) return;
    EXPECT_LE(reference::max_error(result.lse, reference.lse),
              reference::lse_error_bar(reference::max_error(plain.lse, reference.lse)));
  }

  test::TemporaryRuntime runtime_;

 private:
  const char* family_;
};

}  // namespace ffpa_jit::testing
