// The generated CPU attention kernels against the fp64 reference, at every level that this
// processor runs; AMX in software where it has none. A failure prints the problem;
// FFPA_TEST_SEED=<seed> runs one random problem only.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "properties/check.h"
#include "reference/attention_reference.h"
#include "reference/comparison.h"
#include "templates/cpu/kernel_under_test.h"
#include "templates/cuda/attention_case.h"

namespace ffpa_jit::testing {
namespace {

const char* const kLevels[] = {"x86-64", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16",
                               "x86-64-v4-amx"};

class SdpaCpu : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string reason;
    if (!cpu_compiler(&reason)) GTEST_SKIP() << "no compiler for CPUs: " << reason;
    options_.level = GetParam();
    if (options_.level == "x86-64-v4-amx" && !host_runs(options_.level)) {
      options_.emulate_amx = true;
      if (!host_runs("x86-64-v4-bf16")) GTEST_SKIP() << "emulated AMX needs AVX512-BF16";
    } else if (!host_runs(options_.level)) {
      GTEST_SKIP() << "this processor has no " << options_.level;
    }
  }

  void expect_right(const CaseSpec& spec, uint64_t seed = 1) {
    AttentionCase problem(spec, seed);
    run_kernel(problem.args(), options_);
    const auto result = reference::read_result(problem.args());
    const auto expected = reference::attention_reference(problem.args());
    const auto plain = reference::plain_attention(problem.args());
    const auto dtype = spec.dtype == FFPA_JIT_FP32   ? DType::kFp32
                       : spec.dtype == FFPA_JIT_FP16 ? DType::kFp16
                                                     : DType::kBf16;
    const double bar = reference::error_bar(reference::relative_error(plain.o, expected.o), dtype,
                                            expected.lse.size());
    EXPECT_LE(reference::relative_error(result.o, expected.o), bar)
        << "d=" << spec.d << " dv=" << spec.dv << " nq=" << spec.nq << " nk=" << spec.nk;
    if (!spec.lse) return;
    EXPECT_LE(reference::max_error(result.lse, expected.lse),
              reference::lse_error_bar(reference::max_error(plain.lse, expected.lse)));
  }

  KernelOptions options_;
};

TEST_P(SdpaCpu, RandomProblems) {
  const char* only = std::getenv("FFPA_TEST_SEED");
  const uint64_t first = only ? std::strtoull(only, nullptr, 10) : 1;
  const uint64_t last = only ? first : 24;
  properties::Judge judge;
  for (uint64_t seed = first; seed <= last; ++seed) {
    properties::RandomProblem problem(seed);
    SCOPED_TRACE(problem.text());
    run_kernel(problem.args(), options_);
    judge.expect_right(problem);
  }
  if (!only) judge.expect_accurate_on_average();
}

TEST_P(SdpaCpu, EveryTileShape) {
  const int lanes = options_.level == "x86-64" ? 4 : options_.level == "x86-64-v3" ? 8 : 16;
  const int max_panel = lanes == 16 ? 64 : 2 * lanes;
  uint64_t seed = 200;
  properties::Judge judge;
  for (int block_m = lanes; block_m <= 2 * max_panel; block_m *= 2) {
    for (int block_n : {16, 48, 128}) {
      KernelConfig config;
      config.block_m = block_m;
      config.block_n = block_n;
      options_.config = config;
      properties::RandomProblem problem(++seed);
      SCOPED_TRACE(problem.text() + " " + text_of(config));
      run_kernel(problem.args(), options_);
      judge.expect_right(problem);
    }
  }
}

TEST_P(SdpaCpu, WideAndOddHeads) {
  struct Heads {
    int64_t d, dv;
  };
  for (const Heads heads : {Heads{7, 200}, Heads{63, 65}, Heads{576, 512}, Heads{1024, 1024},
                            Heads{2048, 1}, Heads{1, 2048}}) {
    for (ffpa_jit_dtype dtype : {FFPA_JIT_FP32, FFPA_JIT_BF16}) {
      if (options_.emulate_amx && (dtype != FFPA_JIT_BF16 || heads.d > 1000)) continue;
      CaseSpec spec;
      spec.dtype = dtype;
      spec.d = heads.d;
      spec.dv = heads.dv;
      spec.nq = 17;
      spec.nk = 81;
      spec.causal = true;
      spec.row_padding = 3;
      expect_right(spec);
    }
  }
}

TEST_P(SdpaCpu, NoKeysGiveZeroAndMinusInfinity) {
  CaseSpec spec;
  spec.nk = 0;
  AttentionCase problem(spec, 1);
  run_kernel(problem.args(), options_);
  const auto result = reference::read_result(problem.args());
  for (double o : result.o) ASSERT_EQ(o, 0);
  for (double lse : result.lse) ASSERT_EQ(lse, -std::numeric_limits<double>::infinity());
}

TEST_P(SdpaCpu, LargeLogits) {
  CaseSpec spec;
  spec.nq = 65;
  spec.nk = 200;
  spec.d = spec.dv = 64;
  spec.q_scale = 8;
  for (ffpa_jit_dtype dtype : {FFPA_JIT_FP32, FFPA_JIT_FP16, FFPA_JIT_BF16}) {
    spec.dtype = dtype;
    expect_right(spec);
  }
}

// A NaN that a row sees reaches that row, and no other.
TEST_P(SdpaCpu, VisibleNanStaysInItsRows) {
  for (ffpa_jit_dtype dtype : {FFPA_JIT_FP32, FFPA_JIT_FP16, FFPA_JIT_BF16}) {
    CaseSpec spec;
    spec.dtype = dtype;
    spec.heads = spec.heads_kv = 1;
    spec.nq = spec.nk = 70;
    spec.d = spec.dv = 40;
    spec.causal = true;
    AttentionCase problem(spec, 3);
    constexpr int64_t kKey = 37, kDim = 5;
    reference::write_element(problem.args().v.data, dtype, kKey * spec.dv + kDim,
                             std::numeric_limits<float>::quiet_NaN());
    run_kernel(problem.args(), options_);
    const auto result = reference::read_result(problem.args());
    for (int64_t row = 0; row < spec.nq; ++row) {
      for (int64_t dim = 0; dim < spec.dv; ++dim) {
        ASSERT_EQ(std::isnan(result.o[row * spec.dv + dim]), row >= kKey && dim == kDim)
            << row << " " << dim;
      }
    }
  }
}

// NaN between the rows of tensors must not reach the output, not even through products with
// padding.
TEST_P(SdpaCpu, NanBetweenRowsStaysThere) {
  for (ffpa_jit_dtype dtype : {FFPA_JIT_FP32, FFPA_JIT_BF16}) {
    CaseSpec spec;
    spec.dtype = dtype;
    spec.nq = 33;
    spec.nk = 47;
    spec.d = 72;
    spec.dv = 40;
    spec.row_padding = 5;  // NaN
    expect_right(spec);
  }
}

// A tensor moved to where a page without access follows its last element (or precedes its first).
class Guarded {
 public:
  Guarded(ffpa_jit_tensor& tensor, bool at_end) {
    if (!tensor.data) return;
    size_t elements = 1;
    for (int i = 0; i < tensor.rank; ++i) elements += (tensor.sizes[i] - 1) * tensor.strides[i];
    const size_t bytes = elements * (tensor.dtype == FFPA_JIT_FP32   ? 4
                                     : tensor.dtype == FFPA_JIT_BOOL ? 1
                                                                     : 2);
    constexpr size_t kPage = 4096;
    const size_t inside = (bytes + kPage - 1) / kPage * kPage;
    size_ = inside + 2 * kPage;
    memory_ =
        static_cast<char*>(mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_ + kPage, inside, PROT_READ | PROT_WRITE);
    char* data = memory_ + kPage + (at_end ? inside - bytes : 0);
    std::memcpy(data, tensor.data, bytes);
    tensor.data = data;
  }
  ~Guarded() {
    if (memory_) munmap(memory_, size_);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

 private:
  char* memory_ = nullptr;
  size_t size_ = 0;
};

TEST_P(SdpaCpu, TouchesNothingOutsideItsTensors) {
  for (ffpa_jit_dtype dtype : {FFPA_JIT_FP32, FFPA_JIT_FP16, FFPA_JIT_BF16}) {
    for (bool at_end : {true, false}) {
      CaseSpec spec;
      spec.dtype = dtype;
      spec.nq = 19;
      spec.nk = 45;
      spec.d = 37;
      spec.dv = 51;
      spec.mask = "bhqk";
      spec.bias = "bhqk";
      spec.bias_dtype = dtype;
      AttentionCase problem(spec, 5);
      ffpa_jit_attention_args args = problem.args();
      const Guarded q(args.q, at_end), k(args.k, at_end), v(args.v, at_end), o(args.o, at_end),
          lse(args.lse, at_end), mask(args.mask, at_end), bias(args.bias, at_end);
      run_kernel(args, options_);
      const auto expected = reference::attention_reference(args);
      EXPECT_LT(reference::relative_error(reference::read_result(args).o, expected.o), 1e-2);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, SdpaCpu, ::testing::ValuesIn(kLevels), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

// Levels that this processor lacks are compiled all the same.
TEST(SdpaCpuCompile, EveryLevelTakesEveryFeature) {
  std::string reason;
  if (!cpu_compiler(&reason)) GTEST_SKIP() << "no compiler for CPUs: " << reason;
  for (const char* level : kLevels) {
    for (ffpa_jit_dtype dtype : {FFPA_JIT_FP32, FFPA_JIT_FP16, FFPA_JIT_BF16}) {
      CaseSpec spec;
      spec.dtype = dtype;
      spec.heads = 4;
      spec.window_left = 8;
      spec.window_right = 4;
      spec.mask = "bhqk";
      spec.bias = "111k";
      spec.dropout = 0.2;
      spec.softcap = 20;
      AttentionCase problem(spec, 1);
      KernelOptions options;
      options.level = level;
      EXPECT_GT(compile_kernel(problem.args(), options), 0u) << level;
    }
  }
}

}  // namespace
}  // namespace ffpa_jit::testing
