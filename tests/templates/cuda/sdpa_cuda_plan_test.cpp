// What the sdpa family on CUDA takes, plans and refuses, and that its default configs compile for
// every target without spilling. No GPU is needed; the compile test needs NVRTC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "plan/families/sdpa_cuda.h"
#include "templates/cuda/default_kernels.h"

namespace ffpa_jit::testing {
namespace {

using ::testing::HasSubstr;

DeviceInfo device_of(const char* target) {
  DeviceInfo info;
  info.target = parse_target(target);
  return info;
}

Shape shape_of(int64_t batch, int64_t heads, int64_t nq) {
  Shape shape;
  shape.batch = batch;
  shape.heads_q = shape.heads_kv = heads;
  shape.seqlen_q = shape.seqlen_k = nq;
  return shape;
}

TEST(SdpaCudaPlan, TakesEveryHeadDimAndRefusesWithReasons) {
  const KernelFamily& family = sdpa_cuda_family();
  Problem problem;
  for (int head_dim : {1, 7, 64, 511, 2048}) {
    problem.head_dim = problem.head_dim_v = head_dim;
    EXPECT_EQ(family.refuses(problem, parse_target("sm_75")), std::nullopt);
  }
  EXPECT_EQ(family.refuses(problem, parse_target("gfx942")), "serves CUDA targets, not gfx942");
  problem.head_dim_v = 2049;
  EXPECT_EQ(family.refuses(problem, parse_target("sm_90a")), "head dim 2049 is outside 1 to 2048");
}

TEST(SdpaCudaPlan, EveryDefaultConfigCanBeBuilt) {
  for (DType dtype : {DType::kFp32, DType::kFp16, DType::kBf16}) {
    for (int head_dim_v = 1; head_dim_v <= 2048; head_dim_v += head_dim_v < 600 ? 1 : 37) {
      for (int64_t nq : {0, 1, 7, 8, 4096}) {
        Problem problem;
        problem.dtype = dtype;
        problem.head_dim = 2049 - head_dim_v;
        problem.head_dim_v = head_dim_v;
        const KernelConfig config =
            sdpa_cuda_family().default_config(problem, shape_of(1, 1, nq), device_of("sm_75"));
        EXPECT_NO_THROW(sdpa_cuda_family().plan(problem, config, device_of("sm_75")))
            << text_of(problem) << " " << text_of(config);
      }
    }
  }
}

TEST(SdpaCudaPlan, TheGridGrowsInOneDimension) {
  Problem problem;
  const KernelConfig config =
      sdpa_cuda_family().default_config(problem, shape_of(1, 1, 512), device_of("sm_90a"));
  const Plan plan = sdpa_cuda_family().plan(problem, config, device_of("sm_90a"));
  const auto grid = [&](const Shape& shape) { return plan.steps[0].geometry(shape).grid; };
  EXPECT_EQ(grid(shape_of(70000, 3, 33)), (Dim3{70000 * 3 * 2, 1, 1}));
  EXPECT_EQ(grid(shape_of(1 << 20, 1 << 20, 33)), (Dim3{0x7fffffff, 1, 1}));
  EXPECT_EQ(grid(shape_of(2, 3, 0)).x, 0u);
}

TEST(SdpaCudaPlan, ConfigsThatCannotBeBuiltSayWhatIsAllowed) {
  Problem problem;
  problem.head_dim = problem.head_dim_v = 512;
  KernelConfig config =
      sdpa_cuda_family().default_config(problem, shape_of(1, 1, 512), device_of("sm_90a"));
  const auto reason = [&](auto change) -> std::string {
    KernelConfig changed = config;
    change(changed);
    try {
      sdpa_cuda_family().plan(problem, changed, device_of("sm_90a"));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), FFPA_JIT_INVALID_ARGUMENT);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(reason([](KernelConfig& c) { c.block_n = 48; }),
              HasSubstr("block_n is 32, 64 or 128"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.num_warps = 3; }),
              HasSubstr("num_warps is 1, 2, 4, 8"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.block_m = 8; }),
              HasSubstr("2, 4 or 8 rows for each warp"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.block_d = 12; }),
              HasSubstr("multiple of 8 from 8 to 64"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.block_m = 128, c.num_warps = 16, c.block_n = 128; }),
              HasSubstr("48 KiB of shared memory"));
  EXPECT_THAT(reason([](KernelConfig& c) { c.cluster = 2; }), HasSubstr("no num_stages, cluster"));
}

struct CompileCase {
  const char* target;
  const char* problem;
  int64_t nq;
};

class SdpaCudaCompile : public ::testing::TestWithParam<CompileCase> {};

TEST_P(SdpaCudaCompile, DoesNotSpill) {
  for (const KernelBinary& kernel :
       expect_no_spills(sdpa_cuda_family(), parse_problem(GetParam().problem),
                        shape_of(1, 1, GetParam().nq), device_of(GetParam().target))) {
    EXPECT_EQ(kernel.format, BinaryFormat::kCubin);
    EXPECT_LE(kernel.resources.static_shared_bytes, 48 * 1024);
  }
}

constexpr char kPlain[] = "forward bf16 d=64 dv=64 group=1 layout=bhnd";
constexpr char kWide[] = "forward fp32 d=512 dv=512 group=4 layout=bhnd causal lse";
const std::string kEverything = [] {
  Problem problem;
  problem.dtype = DType::kFp32;
  problem.head_dim = problem.head_dim_v = 128;
  problem.layout = Layout::kVarlen;
  problem.window_left = problem.window_right = true;
  problem.has_mask = problem.has_bias = problem.dropout = problem.softcap = problem.lse = true;
  return text_of(problem);
}();

INSTANTIATE_TEST_SUITE_P(Targets, SdpaCudaCompile,
                         ::testing::Values(CompileCase{"sm_75", kPlain, 512},
                                           CompileCase{"sm_75", kEverything.c_str(), 512},
                                           CompileCase{"sm_80", kWide, 512},
                                           CompileCase{"sm_86", kEverything.c_str(), 5},
                                           CompileCase{"sm_89", kWide, 1},
                                           CompileCase{"sm_90a", kPlain, 512},
                                           CompileCase{"sm_90a", kEverything.c_str(), 512},
                                           CompileCase{"sm_100a", kWide, 512},
                                           CompileCase{"sm_120a", kEverything.c_str(), 512}),
                         [](const auto& info) {
                           return std::to_string(info.index) + "_" + info.param.target;
                         });

}  // namespace
}  // namespace ffpa_jit::testing
