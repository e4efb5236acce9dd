// The plan of the CPU's sdpa family: what it refuses, which configs it takes, what its geometry
// covers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "plan/families/sdpa_cpu.h"

namespace ffpa_jit {
namespace {

DeviceInfo cpu_of(const std::string& level) {
  DeviceInfo device;
  device.target = {TargetKind::kCpu, level};
  device.multiprocessors = 2;
  device.shared_bytes_per_block = 1 << 20;
  return device;
}

TEST(SdpaCpuPlan, RefusesOtherTargetsByName) {
  const auto reason = sdpa_cpu_family().refuses({}, {TargetKind::kCuda, "sm_90a"});
  ASSERT_TRUE(reason);
  EXPECT_THAT(*reason, testing::HasSubstr("sm_90a"));
}

TEST(SdpaCpuPlan, DefaultConfigsCanBeBuilt) {
  for (const char* level :
       {"x86-64", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "x86-64-v4-amx"}) {
    const DeviceInfo device = cpu_of(level);
    for (DType dtype : {DType::kFp32, DType::kFp16, DType::kBf16}) {
      for (int head_dim : {1, 64, 100, 512, 2048}) {
        for (int64_t seqlen : {1, 7, 64, 8192}) {
          Problem problem;
          problem.dtype = dtype;
          problem.head_dim = problem.head_dim_v = head_dim;
          problem.gqa_group = 4;
          Shape shape{1, 32, 8, seqlen, seqlen, seqlen, seqlen};
          const KernelConfig config = sdpa_cpu_family().default_config(problem, shape, device);
          const Plan plan = sdpa_cpu_family().plan(problem, config, device);
          const LaunchGeometry geometry = plan.steps.at(0).geometry(shape);
          // Every row of every head is in exactly one tile.
          EXPECT_GE(int64_t{geometry.grid.x} * config.block_m, seqlen * 4);
          EXPECT_LT(int64_t{geometry.grid.x - 1} * config.block_m, seqlen * 4);
          EXPECT_EQ(geometry.grid.y, 8u);
          EXPECT_GT(geometry.dynamic_shared_bytes, 0u);
        }
      }
    }
  }
}

// A grid that was cut to 32 bits would leave rows unwritten.
TEST(SdpaCpuPlan, TooManyTilesForALaunchAreATypedError) {
  Problem problem;
  problem.gqa_group = 1 << 20;
  const DeviceInfo device = cpu_of("x86-64");
  Shape shape{1, 1 << 20, 1, 4096, 4096, 4096, 4096};
  const Plan plan = sdpa_cpu_family().plan(
      problem, sdpa_cpu_family().default_config(problem, shape, device), device);
  EXPECT_EQ(int64_t{plan.steps.at(0).geometry(shape).grid.x} * plan.config.block_m,
            int64_t{4096} << 20);
  shape.seqlen_q = 2147483647;
  try {
    plan.steps.at(0).geometry(shape);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), FFPA_JIT_UNSUPPORTED);
    EXPECT_THAT(error.what(), testing::HasSubstr("a launch has at most 4294967295"));
  }
}

TEST(SdpaCpuPlan, BadConfigsSayWhatIsAllowed) {
  const DeviceInfo device = cpu_of("x86-64-v4");
  const auto message = [&](KernelConfig config) -> std::string {
    try {
      sdpa_cpu_family().plan({}, config, device);
      return "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), FFPA_JIT_INVALID_ARGUMENT);
      return error.what();
    }
  };
  KernelConfig config;
  config.block_m = 64;
  config.block_n = 64;
  EXPECT_EQ(message(config), "accepted");
  config.block_m = 48;
  EXPECT_THAT(message(config), testing::HasSubstr("block_m is a power of two from 16 to 64"));
  config.block_m = 0;
  EXPECT_THAT(message(config), testing::HasSubstr("block_m is"));
  config.block_m = 64;
  config.block_n = 20;
  EXPECT_THAT(message(config), testing::HasSubstr("block_n is a multiple of 16"));
  config.block_n = 64;
  config.num_warps = 4;
  EXPECT_THAT(message(config), testing::HasSubstr("block_m and block_n only"));
}

}  // namespace
}  // namespace ffpa_jit
