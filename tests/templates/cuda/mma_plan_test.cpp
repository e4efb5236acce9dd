// What the mma family takes, plans and refuses, and that its default configs compile without
// spilling. No GPU is needed; the compile test needs NVRTC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "plan/families/mma.h"
#include "templates/cuda/default_kernels.h"

namespace ffpa_jit::testing {
namespace {

using ::testing::HasSubstr;

DeviceInfo device_of(const char* target, int multiprocessors = 132) {
  DeviceInfo info;
  info.target = parse_target(target);
  info.multiprocessors = multiprocessors;
  return info;
}

Shape shape_of(int64_t heads_q, int64_t heads_kv, int64_t nq, int64_t nk) {
  Shape shape;
  shape.heads_q = heads_q;
  shape.heads_kv = heads_kv;
  shape.seqlen_q = nq;
  shape.seqlen_k = nk;
  return shape;
}

Problem wide(int head_dim, int head_dim_v) {
  Problem problem;
  problem.head_dim = head_dim;
  problem.head_dim_v = head_dim_v;
  return problem;
}

TEST(MmaPlan, EveryMultipleOfEightHasAConfigThatItsOwnRulesAllow) {
  for (const char* target : {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"}) {
    for (int head_dim = 8; head_dim <= 1024; head_dim += 8) {
      for (int head_dim_v : {8, head_dim, 1032 - head_dim, 1024}) {
        for (int64_t nq : {1, 7, 8, 4096}) {
          for (const bool modified : {false, true}) {
            Problem problem = wide(head_dim, head_dim_v);
            problem.causal = problem.window_right = modified;
            problem.has_mask = problem.dropout = modified;
            ASSERT_EQ(mma_family().refuses(problem, parse_target(target)), std::nullopt)
                << text_of(problem);
            const KernelConfig config =
                mma_family().default_config(problem, shape_of(2, 2, nq, 4096), device_of(target));
            EXPECT_NO_THROW(mma_family().plan(problem, config, device_of(target)))
                << target << " " << text_of(problem) << " " << text_of(config);
          }
        }
      }
    }
  }
}

TEST(MmaPlan, RefusesWithReasons) {
  const auto reason = [](auto change, const char* target = "sm_90a") {
    Problem problem;
    change(problem);
    return mma_family().refuses(problem, parse_target(target)).value_or("takes it");
  };
  EXPECT_EQ(reason([](Problem&) {}), "takes it");
  EXPECT_EQ(reason([](Problem&) {}, "sm_75"), "needs sm_80 or later, sm_75 is older");
  EXPECT_EQ(reason([](Problem&) {}, "gfx942"), "serves CUDA targets, not gfx942");
  EXPECT_EQ(reason([](Problem& p) { p.dtype = DType::kFp32; }),
            "computes fp16 and bf16 on tensor cores, not fp32");
  EXPECT_EQ(reason([](Problem& p) { p.head_dim = 63; }),
            "head dim 63 is not a multiple of 8 from 8 to 1024");
  EXPECT_EQ(reason([](Problem& p) { p.head_dim_v = 1032; }),
            "head dim 1032 is not a multiple of 8 from 8 to 1024");
  EXPECT_EQ(reason([](Problem& p) { p.has_bias = true, p.bias_dtype = DType::kFp16; }),
            "a bias is fp32 or bf16, not fp16");
}

TEST(MmaPlan, FewQueriesSplitTheKeysAndPackTheHeads) {
  Problem problem = wide(128, 128);
  problem.gqa_group = 8;
  const DeviceInfo device = device_of("sm_90a");
  const Shape shape = shape_of(32, 4, 1, 32768);
  const KernelConfig config = mma_family().default_config(problem, shape, device);
  EXPECT_EQ(config.block_m, 16);
  const Plan plan = mma_family().plan(problem, config, device);
  ASSERT_EQ(plan.steps.size(), 2u);
  // The 8 query heads of a kv head are rows of one tile, whose keys 33 blocks share: one for every
  // multiprocessor.
  const LaunchGeometry forward = plan.steps[0].geometry(shape);
  EXPECT_EQ(forward.grid, (Dim3{4, 33, 1}));
  const LaunchGeometry merge = plan.steps[1].geometry(shape);
  EXPECT_EQ(merge.grid, (Dim3{32, 2, 1}));
  EXPECT_EQ(merge.dynamic_shared_bytes, 33u * 4);
  EXPECT_TRUE(forward.programmatic && merge.programmatic);
  EXPECT_EQ(plan.workspace_bytes(shape), size_t{33} * 32 * (128 + 1) * 4);
  // The same plan for a shape with enough tiles: nothing is shared, and nothing is left to merge.
  const Shape full = shape_of(8192, 1024, 1, 4096);
  EXPECT_EQ(plan.steps[0].geometry(full).grid, (Dim3{1024, 1, 1}));
  EXPECT_EQ(plan.steps[1].geometry(full).grid.x, 0u);
  EXPECT_EQ(plan.workspace_bytes(full), 0u);
  // Before sm_90, one launch begins when the one before has ended.
  const DeviceInfo before = device_of("sm_86");
  const Plan ordinary =
      mma_family().plan(problem, mma_family().default_config(problem, shape, before), before);
  EXPECT_FALSE(ordinary.steps[0].geometry(shape).programmatic);
}

// However many tiles there are, the blocks fill the device evenly: little of it waits for the last.
TEST(MmaPlan, BlocksOfFewQueriesFillTheDevice) {
  const DeviceInfo device = device_of("sm_90a");
  const Problem problem = wide(128, 128);
  for (int64_t heads = 1; heads <= 600; ++heads) {
    const Shape shape = shape_of(heads, heads, 1, 65536);
    const Plan plan =
        mma_family().plan(problem, mma_family().default_config(problem, shape, device), device);
    const Dim3 grid = plan.steps[0].geometry(shape).grid;
    ASSERT_EQ(grid.x, heads);
    const int64_t blocks = int64_t{grid.x} * grid.y;
    const double waves = static_cast<double>((blocks + 131) / 132);
    EXPECT_GT(static_cast<double>(blocks) / 132 / waves, heads < 3 ? 0.9 : 0.85) << heads;
  }
}

TEST(MmaPlan, TooManyTilesForALaunchAreATypedError) {
  Problem problem;
  const KernelConfig config =
      mma_family().default_config(problem, shape_of(1, 1, 4096, 4096), device_of("sm_90a"));
  const Plan plan = mma_family().plan(problem, config, device_of("sm_90a"));
  Shape shape = shape_of(1 << 20, 1 << 20, 128, 128);
  EXPECT_EQ(plan.steps[0].geometry(shape).grid.x, 1u << 20);
  shape.batch = 1 << 20;
  EXPECT_THROW(plan.steps[0].geometry(shape), Error);
}

TEST(MmaPlan, ConfigsThatCannotBeBuiltSayWhatIsAllowed) {
  const Problem problem = wide(512, 512);
  const KernelConfig config =
      mma_family().default_config(problem, shape_of(1, 1, 512, 512), device_of("sm_90a"));
  const auto reason = [&](auto change, const char* target = "sm_90a") -> std::string {
    KernelConfig changed = config;
    change(changed);
    try {
      mma_family().plan(problem, changed, device_of(target));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), FFPA_JIT_INVALID_ARGUMENT);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(reason([](KernelConfig&) {}), "");
  EXPECT_THAT(reason([](KernelConfig& c) { c.block_n = 48; }), HasSubstr("block_n is 16, 32, 64"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.num_warps = 3; }), HasSubstr("num_warps is 1, 2, 4"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.block_m = 20; }), HasSubstr("multiple of 16"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.block_d = 24; }), HasSubstr("multiple of 16"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.num_stages = 1; }), HasSubstr("2 to 8"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.cluster = 2; }), HasSubstr("no cluster"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.block_m = 256; }), HasSubstr("registers of O"));
  EXPECT_THAT(reason([](KernelConfig&) {}, "sm_86"), HasSubstr("bytes of shared memory"));
}

struct CompileCase {
  const char* target;
  const char* problem;
  int64_t nq;
};

class MmaCompile : public ::testing::TestWithParam<CompileCase> {};

TEST_P(MmaCompile, DoesNotSpill) {
  expect_no_spills(mma_family(), parse_problem(GetParam().problem),
                   shape_of(1, 1, GetParam().nq, 4096), device_of(GetParam().target));
}

std::string masked(int head_dim, bool everything) {
  Problem problem = wide(head_dim, head_dim);
  problem.has_mask = true;
  if (everything) {
    problem.layout = Layout::kVarlen;
    problem.window_left = problem.window_right = true;
    problem.has_bias = problem.dropout = problem.softcap = problem.lse = true;
  }
  return text_of(problem);
}
const std::string kMasked320 = masked(320, false), kMasked512 = masked(512, false),
                  kMasked768 = masked(768, false), kEverything128 = masked(128, true),
                  kEverything256 = masked(256, true), kEverything512 = masked(512, true);

INSTANTIATE_TEST_SUITE_P(
    Targets, MmaCompile,
    ::testing::Values(
        CompileCase{"sm_80", "forward fp16 d=64 dv=64 group=1 layout=bhnd causal lse", 512},
        CompileCase{"sm_80", "forward bf16 d=512 dv=512 group=1 layout=bhnd", 512},
        CompileCase{"sm_86", "forward bf16 d=128 dv=128 group=1 layout=bhnd causal", 512},
        CompileCase{"sm_89", "forward bf16 d=1024 dv=1024 group=4 layout=bhnd", 1},
        CompileCase{"sm_90a", "forward bf16 d=128 dv=128 group=1 layout=bhnd", 512},
        CompileCase{"sm_90a", "forward bf16 d=128 dv=128 group=1 layout=bhnd causal lse", 512},
        CompileCase{"sm_90a", "forward bf16 d=256 dv=256 group=1 layout=bhnd causal lse", 512},
        CompileCase{"sm_90a", "forward bf16 d=320 dv=320 group=1 layout=bhnd causal lse", 512},
        CompileCase{"sm_90a", "forward bf16 d=512 dv=512 group=1 layout=bhnd", 512},
        CompileCase{"sm_90a", "forward bf16 d=512 dv=512 group=1 layout=bhnd causal lse", 512},
        CompileCase{"sm_90a", "forward bf16 d=640 dv=640 group=1 layout=bhnd causal", 512},
        CompileCase{"sm_90a", "forward bf16 d=1024 dv=1024 group=1 layout=bhnd causal", 512},
        CompileCase{"sm_90a", "forward bf16 d=128 dv=128 group=8 layout=bhnd lse", 1},
        CompileCase{"sm_90a", "forward bf16 d=1024 dv=1024 group=1 layout=bhnd lse", 512},
        CompileCase{"sm_90a", "forward bf16 d=512 dv=512 group=8 layout=bhnd seqlens_k page=64", 1},
        CompileCase{"sm_90a",
                    "forward bf16 d=512 dv=512 group=1 layout=bhnd causal sinks seqlens_k", 512},
        CompileCase{"sm_89", "forward fp16 d=128 dv=128 group=1 layout=bhnd causal accumulate=fp16",
                    512},
        CompileCase{"sm_90a", kMasked320.c_str(), 512},
        CompileCase{"sm_90a", kMasked512.c_str(), 512},
        CompileCase{"sm_90a", kMasked768.c_str(), 512},
        CompileCase{"sm_90a", kEverything128.c_str(), 512},
        CompileCase{"sm_90a", kEverything256.c_str(), 512},
        CompileCase{"sm_90a", kEverything512.c_str(), 512},
        CompileCase{"sm_120a", "forward bf16 d=256 dv=256 group=1 layout=varlen causal lse", 512}),
    [](const auto& info) { return std::to_string(info.index) + "_" + info.param.target; });

}  // namespace
}  // namespace ffpa_jit::testing
