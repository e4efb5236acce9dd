// What the wgmma family plans and refuses past head dim 512, and that its default configs compile
// without spilling or serialising their products. No GPU is needed; the compile test needs NVRTC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "codegen/generator.h"
#include "compile/compiler.h"
#include "templates/cuda/wgmma_plans.h"

namespace ffpa_jit::testing {
namespace {

using ::testing::HasSubstr;

TEST(WgmmaHalvesPlan, EveryMultipleOfEightHasAConfigThatItsOwnRulesAllow) {
  for (int head_dim = 520; head_dim <= 1024; head_dim += 8) {
    for (int other : {8, 64, 264, 512, 1032 - head_dim, head_dim, 1024}) {
      for (const Problem& problem : {of_dims(head_dim, other), of_dims(other, head_dim)}) {
        ASSERT_EQ(wgmma_family().refuses(problem, parse_target("sm_90a")), std::nullopt);
        const Plan plan = default_plan(problem);
        EXPECT_EQ(plan.steps.at(0).template_name, "cuda/wgmma_halves.cu.j2");
        const LaunchGeometry geometry = plan.steps.at(0).geometry(shape_of(32, 32, 4096, 4096));
        EXPECT_LE(geometry.dynamic_shared_bytes, 232448u) << text_of(problem);
        EXPECT_EQ(geometry.grid.x, 32 * 4096 / 64 * 2u);
        EXPECT_EQ(geometry.cluster.x, 2u);
      }
    }
  }
}

TEST(WgmmaHalvesPlan, BlocksHaveHalfOfTheHeadDimsEach) {
  Problem problem = of_dims(1024, 768);
  problem.gqa_group = 12;  // of which four fit 64 rows evenly
  const Plan plan = default_plan(problem);
  const Shape shape = shape_of(24, 2, 100, 4096);
  EXPECT_EQ(plan.steps[0].geometry(shape).grid.x, 24 / 4 * 7 * 2u);  // 100 positions, 16 a tile
  EXPECT_EQ(plan.steps[0].context["columns"], 192);                  // a quarter, of each warpgroup
  ForwardParams params{};
  alignas(16) static char memory[16];
  params.q = params.k = params.v = memory;
  const TensorMapSpecs maps = plan.steps[0].tensor_maps(params, shape);
  ASSERT_EQ(maps.count, 3);
  EXPECT_EQ(maps.spec[0].box, (std::array<uint32_t, 5>{64, 16, 4, 1, 0}));
  EXPECT_EQ(maps.spec[1].box[1], 128u);  // keys of a warpgroup
  // V in three blocks of 64 columns at a time.
  EXPECT_EQ(maps.spec[2].sizes, (std::array<uint64_t, 5>{64, 4096, 12, 2, 1}));
  EXPECT_EQ(maps.spec[2].box[2], 3u);
}

TEST(WgmmaHalvesPlan, ConfigsThatCannotBeBuiltSayWhatIsAllowed) {
  const Problem problem = of_dims(1024, 1024);
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
  EXPECT_THAT(reason([](KernelConfig& c) { c.block_d = 128; }), HasSubstr("block_d is 64"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.cluster = 1; }), HasSubstr("cluster is 2"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.num_stages = 7; }),
              HasSubstr("num_stages is an even"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.num_stages = 16; }), HasSubstr("shared memory"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.split_kv = 2; }), HasSubstr("does not split keys"));
}

struct CompileCase {
  std::string problem;
  int spill_bytes;  // at most
};

class WgmmaHalvesCompile : public ::testing::TestWithParam<CompileCase> {};

TEST_P(WgmmaHalvesCompile, DoesNotSpillMoreThanExpected) {
  static CompilerSet compilers(null_logger());
  static const codegen::TemplateEngine engine(codegen::default_templates({}));
  const Target target = parse_target("sm_90a");
  std::string reason;
  Compiler* compiler = compilers.find(target, &reason);
  if (!compiler) GTEST_SKIP() << "no compiler for sm_90a: " << reason;
  const Problem problem = parse_problem(GetParam().problem);
  ASSERT_EQ(wgmma_family().refuses(problem, target), std::nullopt);
  const Plan plan = default_plan(problem);
  for (const PlanStep& step : plan.steps) {
    const KernelBinary binary = compiler->compile(
        codegen::generate(engine, step.template_name, step.context, step.entry, target), {});
    EXPECT_LE(binary.resources.spill_bytes, GetParam().spill_bytes) << text_of(problem);
    EXPECT_THAT(binary.log, ::testing::Not(HasSubstr("Performance Loss"))) << text_of(problem);
  }
}

std::vector<CompileCase> compiled_problems() {
  std::vector<CompileCase> out;
  const auto add = [&](int head_dim, int head_dim_v, int spill_bytes, auto change) {
    Problem problem = of_dims(head_dim, head_dim_v);
    problem.lse = true;
    change(problem);
    out.push_back({text_of(problem), spill_bytes});
  };
  for (int head_dim : {640, 1024}) {
    // With 128 registers of O, what the thread knows of itself is kept in memory, and at the end
    // read again.
    const int some = head_dim == 1024 ? 128 : 0;
    add(head_dim, head_dim, some, [](Problem& p) { p.lse = false; });
    add(head_dim, head_dim, some, [](Problem& p) {
      p.causal = p.window_right = true;
      p.lse = false;
    });
    add(head_dim, head_dim, some, [](Problem& p) { p.causal = p.window_right = true; });
    add(head_dim, head_dim, 4 * some, [](Problem& p) { p.has_mask = p.dropout = true; });
    add(head_dim, head_dim, some, [](Problem& p) { p.softcap = p.sinks = p.seqlens_k = true; });
    add(head_dim, head_dim, 8 * some + 64, [](Problem& p) {
      p.has_bias = true;
      p.bias_dtype = DType::kFp32;
    });
    add(head_dim, head_dim, some, [](Problem& p) {
      p.layout = Layout::kVarlen;
      p.causal = p.window_right = true;
    });
  }
  add(576, 512, 0, [](Problem& p) { p.causal = p.window_right = true, p.gqa_group = 16; });
  return out;
}

INSTANTIATE_TEST_SUITE_P(Problems, WgmmaHalvesCompile, ::testing::ValuesIn(compiled_problems()),
                         [](const auto& info) { return std::to_string(info.index); });

}  // namespace
}  // namespace ffpa_jit::testing
