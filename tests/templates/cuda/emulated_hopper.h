// A runtime with a cache of its own on an emulated sm_90, and what the wgmma family computes there
// held against the fp64 reference.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "ffpa_jit/ffpa_jit.h"
#include "reference/attention_reference.h"
#include "reference/comparison.h"
#include "templates/cuda/attention_case.h"

namespace ffpa_jit::testing {

class EmulatedHopper : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "ffpa_wgmma_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    cache_dir_ = pattern;
    ffpa_jit_runtime_options options = FFPA_JIT_RUNTIME_OPTIONS_INIT;
    options.cache_dir = pattern.c_str();
    ASSERT_EQ(ffpa_jit_runtime_create(&options, &runtime_), FFPA_JIT_OK) << ffpa_jit_last_error();
  }

  void TearDown() override {
    ffpa_jit_runtime_destroy(runtime_);
    std::filesystem::remove_all(cache_dir_);
  }

  ffpa_jit_status forward(ffpa_jit_attention_args args, const char* family = "wgmma") {
    args.device_kind = FFPA_JIT_EMULATED_CUDA;
    args.device_index = 90;
    args.family = family;
    return ffpa_jit_attention_forward(runtime_, &args);
  }

  // Which family would serve.
  std::string family_of(ffpa_jit_attention_args args) {
    args.device_kind = FFPA_JIT_EMULATED_CUDA;
    args.device_index = 90;
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

  void expect_right(CaseSpec spec, uint64_t seed) {
    if (IsSkipped()) return;
    if (spec.dtype == FFPA_JIT_FP32) spec.dtype = FFPA_JIT_BF16;
    AttentionCase problem(spec, seed);
    expect_right(problem.args(), spec, problem);
  }

  void expect_right(const ffpa_jit_attention_args& args, const CaseSpec& spec,
                    AttentionCase& problem) {
    problem.poison_output();
    const ffpa_jit_status status = forward(args);
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

  ffpa_jit_runtime* runtime_ = nullptr;
  std::filesystem::path cache_dir_;
};

}  // namespace ffpa_jit::testing
