// What the wgmma family plans and refuses past head dim 256, and that its default configs compile
// without spilling or serialising their products. No GPU is needed; the compile test needs NVRTC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "templates/cuda/default_kernels.h"
#include "templates/cuda/wgmma_plans.h"

namespace ffpa_jit::testing {
namespace {

using ::testing::HasSubstr;

TEST(WgmmaColumnsPlan, EveryMultipleOfEightHasAConfigThatItsOwnRulesAllow) {
  const Target target = parse_target("sm_90a");
  for (int head_dim = 8; head_dim <= 1024; head_dim += 8) {
    for (int head_dim_v : {8, head_dim, 264, 1032 - head_dim, 1024}) {
      if (std::max(head_dim, head_dim_v) <= 256) continue;
      for (int features = 0; features < 32; ++features) {
        Problem problem = of_dims(head_dim, head_dim_v);
        problem.causal = problem.window_right = features & 1;
        problem.dropout = features & 2;
        problem.softcap = features & 4;
        problem.has_bias = features & 8;
        problem.has_mask = features & 16;
        if (wgmma_family().refuses(problem, target)) {
          EXPECT_LE(std::max(head_dim, head_dim_v), 512) << text_of(problem);
          EXPECT_GE(problem.dropout + problem.softcap + (problem.has_bias || problem.has_mask), 3)
              << text_of(problem);
          continue;
        }
        const Plan plan = default_plan(problem);
        const LaunchGeometry geometry = plan.steps.at(0).geometry(shape_of(32, 32, 4096, 4096));
        EXPECT_LE(geometry.dynamic_shared_bytes, 232448u) << text_of(problem);
        EXPECT_EQ(geometry.grid.x % geometry.cluster.x, 0u);
      }
    }
  }
}

TEST(WgmmaColumnsPlan, HeadsOfAGroupShareATile) {
  Problem problem = of_dims(512, 512);
  problem.gqa_group = 12;  // of which four fit 64 rows evenly
  const Plan plan = default_plan(problem);
  const Shape shape = shape_of(24, 2, 100, 4096);
  EXPECT_EQ(plan.steps[0].geometry(shape).grid.x, 24 / 4 * 7u);  // 100 positions, 16 a tile
  ForwardParams params{};
  alignas(16) static char memory[16];
  params.q = params.k = params.v = memory;
  const TensorMapSpecs maps = plan.steps[0].tensor_maps(params, shape);
  ASSERT_EQ(maps.count, 3);
  EXPECT_EQ(maps.spec[0].box, (std::array<uint32_t, 5>{64, 16, 4, 1, 0}));
  // V in four blocks of 64 columns at a time: half of the head dim.
  EXPECT_EQ(maps.spec[2].sizes, (std::array<uint64_t, 5>{64, 4096, 8, 2, 1}));
  EXPECT_EQ(maps.spec[2].box, (std::array<uint32_t, 5>{64, 32, 4, 1, 1}));
}

TEST(WgmmaColumnsPlan, ClustersShareRowsOrColumns) {
  Problem problem = of_dims(512, 512);
  EXPECT_EQ(default_plan(problem).config.cluster, 0);
  problem.causal = problem.window_right = true;
  const Plan causal = default_plan(problem);
  EXPECT_EQ(causal.config.cluster, 2);
  EXPECT_EQ(causal.steps[0].geometry(shape_of(1, 1, 129, 129)).grid.x, 4u);  // 128 rows a cluster
  problem = of_dims(512, 512);
  problem.has_mask = problem.dropout = true;  // O leaves them no registers otherwise
  const Plan tight = default_plan(problem);
  EXPECT_EQ(tight.config.cluster, 2);
  EXPECT_EQ(tight.steps[0].geometry(shape_of(1, 1, 129, 129)).grid.x, 6u);  // 64 rows
  EXPECT_EQ(tight.steps[0].context["splits"], "columns");
  EXPECT_EQ(tight.steps[0].context["columns"], 128);
}

TEST(WgmmaColumnsPlan, FewTilesShareOutTheirKeys) {
  const Problem problem = of_dims(512, 512);
  const Shape few = shape_of(16, 16, 128, 8192);  // 32 tiles, 132 multiprocessors
  const auto plan_of = [&](const Shape& shape) {
    return wgmma_family().plan(problem, wgmma_family().default_config(problem, shape, h200()),
                               h200());
  };
  const Plan plan = plan_of(few);
  EXPECT_EQ(plan.steps[0].geometry(few).grid.x, 32 * 4u);
  EXPECT_GT(plan.workspace_bytes(few), 32 * 4 * 64 * 512 * sizeof(float));
  const Shape many = shape_of(32, 32, 8192, 8192);
  EXPECT_EQ(plan_of(many).steps[0].geometry(many).grid.x, 32 * 128u);
  EXPECT_EQ(plan_of(many).workspace_bytes(many), 0u);
}

TEST(WgmmaColumnsPlan, ConfigsThatCannotBeBuiltSayWhatIsAllowed) {
  const Problem problem = of_dims(512, 512);
  const auto reason = [&](auto change) -> std::string {
    KernelConfig changed = default_plan(problem).config;
    change(changed);
    try {
      wgmma_family().plan(problem, changed, h200());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), FFPA_JIT_INVALID_ARGUMENT);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(reason([](KernelConfig&) {}), "");
  EXPECT_THAT(reason([](KernelConfig& c) { c.block_m = 128; }), HasSubstr("block_m is 64"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.block_d = 128; }), HasSubstr("block_d is 32 or 64"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.cluster = 4; }), HasSubstr("cluster is 0 or 2"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.num_stages = 9; }), HasSubstr("num_stages is 2 to"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.num_stages = 5; }), HasSubstr("shared memory"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.split_kv = 9; }), HasSubstr("at most 8"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.cluster = 2, c.split_kv = 8; }),
              HasSubstr("without a cluster"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.block_n = 192; }), HasSubstr("block_n 256"));
}

class WgmmaColumnsCompile : public ::testing::TestWithParam<std::string> {};

TEST_P(WgmmaColumnsCompile, DoesNotSpill) {
  const Problem problem = parse_problem(GetParam());
  ASSERT_EQ(wgmma_family().refuses(problem, h200().target), std::nullopt);
  expect_no_spills(wgmma_family(), problem, shape_of(32, 32 / problem.gqa_group, 4096, 4096),
                   h200());
}

std::vector<std::string> compiled_problems() {
  std::vector<std::string> out;
  const auto add = [&](int head_dim, int head_dim_v, auto change) {
    Problem problem = of_dims(head_dim, head_dim_v);
    problem.lse = true;
    change(problem);
    out.push_back(text_of(problem));
  };
  for (int head_dim : {360, 384, 480, 512}) {
    add(head_dim, head_dim, [](Problem& p) { p.lse = false; });
    add(head_dim, head_dim, [](Problem& p) { p.causal = p.window_right = true; });
  }
  add(576, 512, [](Problem& p) { p.causal = p.window_right = true, p.gqa_group = 16; });
  for (int head_dim : {384, 512}) {
    add(head_dim, head_dim, [](Problem& p) { p.has_mask = true; });
    add(head_dim, head_dim, [](Problem& p) { p.has_bias = true, p.bias_dtype = DType::kFp32; });
    add(head_dim, head_dim, [](Problem& p) { p.dropout = true; });
    add(head_dim, head_dim, [](Problem& p) { p.has_mask = p.dropout = true; });
    add(head_dim, head_dim, [](Problem& p) { p.softcap = p.sinks = p.seqlens_k = true; });
    add(head_dim, head_dim, [](Problem& p) { p.window_left = p.window_right = true; });
    add(head_dim, head_dim,
        [](Problem& p) { p.layout = Layout::kVarlen, p.causal = p.window_right = true; });
  }
  return out;
}

INSTANTIATE_TEST_SUITE_P(Problems, WgmmaColumnsCompile, ::testing::ValuesIn(compiled_problems()),
                         [](const auto& info) { return std::to_string(info.index); });

}  // namespace
}  // namespace ffpa_jit::testing
