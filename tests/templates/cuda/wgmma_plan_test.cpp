// What the wgmma family takes, plans and refuses, and that its default configs compile without
// spilling or serialising its products. No GPU is needed; the compile test needs NVRTC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "templates/cuda/default_kernels.h"
#include "templates/cuda/wgmma_plans.h"

namespace ffpa_jit::testing {
namespace {

using ::testing::HasSubstr;

TEST(WgmmaRowsPlan, EveryMultipleOfEightHasAConfigThatItsOwnRulesAllow) {
  const Target target = parse_target("sm_90a");
  for (int head_dim = 8; head_dim <= 256; head_dim += 8) {
    for (int head_dim_v : {8, head_dim, 264 - head_dim, 256}) {
      for (int features = 0; features < 64; ++features) {
        Problem problem = of_dims(head_dim, head_dim_v);
        problem.causal = problem.window_right = features & 1;
        problem.has_mask = features & 2;
        problem.dropout = features & 4;
        problem.softcap = features & 8;
        problem.has_bias = features & 16;
        problem.bias_dtype = features & 32 ? DType::kFp32 : problem.dtype;
        ASSERT_EQ(wgmma_family().refuses(problem, target), std::nullopt) << text_of(problem);
        const KernelConfig config =
            wgmma_family().default_config(problem, shape_of(2, 4096, 4096), h200());
        EXPECT_NO_THROW(wgmma_family().plan(problem, config, h200()))
            << text_of(problem) << " " << text_of(config);
      }
    }
  }
}

// Past 256, this schedule has what leaves registers for O, and the other one the rest.
TEST(WgmmaRowsPlan, LargerHeadDimsWhereRegistersSuffice) {
  const auto block_m = [](auto change) {
    Problem problem = of_dims(320, 320);
    change(problem);
    const KernelConfig config =
        wgmma_family().default_config(problem, shape_of(32, 4096, 4096), h200());
    EXPECT_NO_THROW(wgmma_family().plan(problem, config, h200())) << text_of(config);
    return config.block_m;
  };
  EXPECT_EQ(block_m([](Problem&) {}), 128);
  EXPECT_EQ(block_m([](Problem& p) { p.causal = p.window_right = p.lse = true; }), 128);
  EXPECT_EQ(block_m([](Problem& p) { p.softcap = true; }), 128);
  EXPECT_EQ(block_m([](Problem& p) { p.head_dim = 376; }), 64);
}

TEST(WgmmaRowsPlan, RefusesWithReasons) {
  const auto reason = [](auto change, const char* target = "sm_90a") {
    Problem problem;
    change(problem);
    return wgmma_family().refuses(problem, parse_target(target)).value_or("takes it");
  };
  EXPECT_EQ(reason([](Problem&) {}), "takes it");
  EXPECT_EQ(reason([](Problem&) {}, "sm_90"), "serves sm_90a, not sm_90");
  EXPECT_EQ(reason([](Problem&) {}, "sm_100a"), "serves sm_90a, not sm_100a");
  EXPECT_EQ(reason([](Problem& p) { p.dtype = DType::kFp32; }),
            "computes fp16 and bf16 on tensor cores, not fp32");
  EXPECT_EQ(reason([](Problem& p) { p.head_dim = 63; }),
            "head dim 63 is not a multiple of 8 from 8 to 1024");
  EXPECT_EQ(reason([](Problem& p) { p.has_bias = true, p.bias_dtype = DType::kFp16; }),
            "a bias is fp32 or bf16, not fp16");
  const auto of_tensors = [](const TensorFacts& tensors, int head_dim) {
    Problem problem;
    problem.head_dim = problem.head_dim_v = head_dim;
    return wgmma_family().refuses_tensors(problem, tensors).value_or("takes them");
  };
  EXPECT_EQ(of_tensors({}, 128), "takes them");
  EXPECT_THAT(of_tensors({.tma = false}, 128), HasSubstr("Q, K and V that are multiples of 16"));
  EXPECT_THAT(of_tensors({.marks_tma = false}, 128), HasSubstr("loads masks and biases by TMA"));
}

TEST(WgmmaRowsPlan, TilesOfTheLastWaveAreSharedOut) {
  const Problem problem = of_dims(128, 128);
  const Shape shape = shape_of(32, 8192, 8192);
  const KernelConfig config = wgmma_family().default_config(problem, shape, h200());
  const Plan plan = wgmma_family().plan(problem, config, h200());
  ASSERT_EQ(plan.steps.size(), 1u);
  EXPECT_EQ(plan.steps[0].geometry(shape).grid.x, 132u);  // one after the other
  EXPECT_EQ(plan.zeroed_bytes(shape), 0u);
  EXPECT_TRUE(plan.steps[0].geometry(shape).programmatic);
  EXPECT_GT(plan.workspace_bytes(shape), 0u);
  // One tile alone: eight blocks.
  const Shape one = shape_of(1, 64, 8192);
  EXPECT_EQ(plan.steps[0].geometry(one).grid.x, 8u);
  EXPECT_EQ(plan.zeroed_bytes(one), 0u);
  // Too few keys to share out.
  EXPECT_EQ(plan.steps[0].geometry(shape_of(1, 64, 64)).grid.x, 1u);
  EXPECT_EQ(plan.workspace_bytes(shape_of(1, 64, 64)), 0u);
}

// Tiles of unequal length: few are dealt out, many come from a counter that is cleared ahead.
TEST(WgmmaRowsPlan, ManyUnequalTilesAreCounted) {
  Problem problem = of_dims(128, 128);
  problem.causal = problem.window_right = true;
  for (const auto& [n, counted] : {std::pair{1024, false}, {16384, true}}) {
    const Shape shape = shape_of(32, n, n);
    const KernelConfig config = wgmma_family().default_config(problem, shape, h200());
    const Plan plan = wgmma_family().plan(problem, config, h200());
    EXPECT_EQ(plan.steps[0].geometry(shape).grid.x, 132u) << n;
    EXPECT_EQ(plan.zeroed_bytes(shape) > 0, counted) << n;
    EXPECT_EQ(plan.steps[0].geometry(shape).programmatic, !counted) << n;
    EXPECT_GE(plan.workspace_bytes(shape), plan.zeroed_bytes(shape)) << n;
  }
}

TEST(WgmmaRowsPlan, DefaultTilesFollowTheLength) {
  const auto rows = [](int head_dim, bool causal, int64_t n) {
    Problem problem = of_dims(head_dim, head_dim);
    problem.causal = problem.window_right = causal;
    return wgmma_family().default_config(problem, shape_of(32, n, n), h200()).block_m;
  };
  // 1024: two waves of 128 rows for two of 192. 8192: 192 rows are faster by themselves.
  EXPECT_EQ(rows(128, false, 1024), 128);
  EXPECT_EQ(rows(128, false, 8192), 192);
  EXPECT_EQ(rows(128, true, 4096), 128);
  EXPECT_EQ(rows(128, true, 8192), 192);
}

TEST(WgmmaRowsPlan, TensorMapsFollowTheCallersStrides) {
  const Problem problem = of_dims(128, 64);
  const KernelConfig config = wgmma_family().default_config(problem, shape_of(4, 512, 512), h200());
  const Plan plan = wgmma_family().plan(problem, config, h200());
  alignas(16) static char memory[64];
  ForwardParams params{};
  params.q = memory, params.k = memory + 16, params.v = memory + 32;
  params.q_stride_row = 1024, params.q_stride_head = 128, params.q_stride_batch = 1024 * 512;
  const TensorMapSpecs maps = plan.steps[0].tensor_maps(params, shape_of(4, 512, 512));
  ASSERT_EQ(maps.count, 3);
  EXPECT_EQ(maps.spec[0].address, memory);
  EXPECT_EQ(maps.spec[0].sizes, (std::array<uint64_t, 5>{128, 512, 4, 1, 0}));
  EXPECT_EQ(maps.spec[0].strides[0], 2048u);
  EXPECT_EQ(maps.spec[0].strides[1], 256u);
  EXPECT_EQ(maps.spec[0].box[1], 64u);
  EXPECT_EQ(maps.spec[2].sizes[0], 64u);
  EXPECT_EQ(maps.spec[2].box[1], static_cast<uint32_t>(config.block_n));
}

TEST(WgmmaRowsPlan, HeadsThatShareAKvHeadShareTiles) {
  Problem problem = of_dims(128, 128);
  problem.gqa_group = 8;
  Shape shape = shape_of(32, 16, 8192);
  shape.heads_kv = 4;
  KernelConfig config = wgmma_family().default_config(problem, shape, h200());
  config.split_kv = 0;
  const Plan plan = wgmma_family().plan(problem, config, h200());
  // 16 positions of 8 heads are the 128 rows of a tile.
  EXPECT_EQ(config.block_m, 128);
  EXPECT_EQ(plan.steps[0].geometry(shape).grid.x, 4u);
  ForwardParams params{};
  params.q_stride_row = 128, params.q_stride_head = 128 * 16, params.q_stride_batch = 1 << 20;
  const TensorMapSpecs maps = plan.steps[0].tensor_maps(params, shape);
  EXPECT_EQ(maps.spec[0].box, (std::array<uint32_t, 5>{64, 8, 8, 1, 0}));
  // Masks may differ from head to head.
  problem.has_mask = true;
  config = wgmma_family().default_config(problem, shape, h200());
  EXPECT_EQ(wgmma_family().plan(problem, config, h200()).steps[0].geometry(shape).grid.x, 32u);
}

TEST(WgmmaRowsPlan, ConfigsThatCannotBeBuiltSayWhatIsAllowed) {
  const Problem problem = of_dims(256, 256);
  const KernelConfig config = wgmma_family().default_config(problem, shape_of(1, 512, 512), h200());
  const auto reason = [&](auto change) -> std::string {
    KernelConfig changed = config;
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
  EXPECT_THAT(reason([](KernelConfig& c) { c.block_m = 256; }), HasSubstr("64, 128 or 192"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.block_n = 72; }), HasSubstr("multiple of 16"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.num_warps = 8; }), HasSubstr("num_warps is 4"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.num_stages = 9; }), HasSubstr("num_stages is 1 to"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.cluster = 2; }), HasSubstr("larger head dims"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.split_kv = 9; }), HasSubstr("at most 8"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.block_n = 128, c.num_stages = 2; }),
              HasSubstr("bytes of shared memory"));
  EXPECT_THAT(reason([](KernelConfig& c) {
                c.block_m = 64, c.num_warps = 8, c.block_n = 112, c.num_stages = 1;
              }),
              HasSubstr("registers"));
}

class WgmmaRowsCompile : public ::testing::TestWithParam<std::string> {};

TEST_P(WgmmaRowsCompile, DoesNotSpill) {
  expect_no_spills(wgmma_family(), parse_problem(GetParam()), shape_of(32, 4096, 4096), h200());
}

// Features one by one and all at once, where registers are scarcest.
std::vector<std::string> compiled_problems() {
  std::vector<std::string> out;
  for (int head_dim : {64, 128, 192, 256, 320, 344}) {
    for (bool causal : {false, true}) {
      Problem problem = of_dims(head_dim, head_dim);
      problem.causal = problem.window_right = causal;
      problem.lse = true;
      out.push_back(text_of(problem));
    }
  }
  for (int head_dim : {128, 256}) {
    const auto add = [&](auto change) {
      Problem problem = of_dims(head_dim, head_dim);
      change(problem);
      out.push_back(text_of(problem));
    };
    add([](Problem& p) { p.has_mask = true; });
    add([](Problem& p) { p.has_bias = true, p.bias_dtype = DType::kFp32; });
    add([](Problem& p) { p.dropout = true; });
    add([](Problem& p) {
      p.layout = Layout::kVarlen;
      p.window_left = p.window_right = p.has_mask = p.has_bias = true;
      p.dropout = p.softcap = p.lse = true;
    });
  }
  out.push_back(text_of(of_dims(192, 128)));
  out.push_back(text_of(of_dims(40, 248)));
  out.push_back(text_of(of_dims(352, 352)));
  Problem softcap = of_dims(320, 320);
  softcap.softcap = softcap.lse = true;
  out.push_back(text_of(softcap));
  return out;
}

INSTANTIATE_TEST_SUITE_P(Problems, WgmmaRowsCompile, ::testing::ValuesIn(compiled_problems()),
                         [](const auto& info) { return std::to_string(info.index); });

}  // namespace
}  // namespace ffpa_jit::testing
