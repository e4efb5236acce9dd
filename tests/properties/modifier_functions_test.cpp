// Each function and operator of the score modifier's language, over the ends of its range, in every
// kernel that can run here, against <cmath>. With one key, K = 0 and LSE wanted, the LSE of a row
// is the modified score.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "api/temporary_directory.h"
#include "ffpa_jit/ffpa_jit.hpp"

namespace ffpa_jit::properties {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kUndefined = 7e7, kAbove = 8e8,
                 kBelow = -8e8;  // what stands for NaN and the infinities

const std::vector<float>& floats() {
  static const std::vector<float> values = [] {
    std::vector<float> out{
        0.0f,   -0.0f,      1.0f,        -1.0f,         0.5f,          0.499f,         2.0f,
        3.5f,   -3.5f,      1e-3f,       1e-20f,        1e-38f,        1e-42f,         1e20f,
        -1e20f, 8388607.5f, -8388608.0f, 2147483520.0f, 2147483648.0f, -2147483648.0f, 3e38f,
        -3e38f, kInfinity,  -kInfinity,  std::nanf(""), 0.625f,        0.3f,           -0.3f,
        9.0f,   20.0f,      87.0f,       88.5f,         89.0f,         -87.0f,         -104.0f,
        127.5f, 128.0f,     -126.0f,     -150.0f,       1e4f,          32.0f};
    for (int i = 0; i < 40; ++i)
      out.push_back(std::ldexp(1.0f + 0.02f * static_cast<float>(i), i - 20));
    return out;
  }();
  return values;
}

struct Ints {
  std::vector<int32_t> a, b;
};
const Ints& ints() {
  static const Ints values = [] {
    Ints out;
    const int32_t ends[] = {INT32_MIN, INT32_MIN + 1, -1000,    -7, -2, -1, 0, 1, 2,
                            7,         1000,          INT32_MAX};
    for (int32_t a : ends) {
      for (int32_t b : ends) out.a.push_back(a), out.b.push_back(b);
    }
    return out;
  }();
  return values;
}

int32_t wrap(int64_t x) { return static_cast<int32_t>(static_cast<uint32_t>(x)); }
int64_t floor_divide(int64_t a, int64_t b) {
  return b == 0 ? 0
                : static_cast<int64_t>(
                      std::floor(static_cast<long double>(a) / static_cast<long double>(b)));
}

struct OfFloat {
  const char* text;
  std::function<double(double)> meaning;
  double tolerance;  // relative, and of what is below 1 absolute
};
const OfFloat kOfFloats[] = {
    {"abs(t0[q])", [](double x) { return std::abs(x); }, 0},
    {"-t0[q]", [](double x) { return -x; }, 0},
    {"floor(t0[q])", [](double x) { return std::floor(x); }, 0},
    {"exp(t0[q])", [](double x) { return std::exp(x); }, 1e-6},
    {"exp2(t0[q])", [](double x) { return std::exp2(x); }, 1e-6},
    {"log(t0[q])", [](double x) { return std::log(x); }, 1e-6},
    {"log2(t0[q])", [](double x) { return std::log2(x); }, 1e-6},
    {"sqrt(t0[q])", [](double x) { return std::sqrt(x); }, 3e-7},
    {"tanh(t0[q])", [](double x) { return std::tanh(x); }, 1e-6},
    {"min(t0[q], 2) + max(t0[q], 5) * 0",
     [](double x) { return (x < 2 ? x : 2) + (x > 5 ? x : 5) * 0; }, 1e-6},
    {"1 / t0[q]", [](double x) { return 1 / x; }, 3e-7},
    {"t0[q] <= 1 && !(t0[q] == 0) || t0[q] > 3 ? 1 : 2",
     [](double x) { return (x <= 1 && !(x == 0)) || x > 3 ? 1.0 : 2.0; }, 0},
    {"where(t0[q] != t0[q], 1, where(t0[q] >= 2, 2, 3))",
     [](double x) { return x != x   ? 1.0
                           : x >= 2 ? 2.0
                                    : 3.0; }, 0},
    {"int(t0[q])",
     [](double x) { return x != x ? 0 : std::clamp(std::trunc(x), -2147483648.0, 2147483647.0); },
     1e-7},
};

struct OfInts {
  const char* text;
  std::function<int64_t(int64_t, int64_t)> meaning;
};
const OfInts kOfInts[] = {
    {"t1[q] // t2[q]", [](int64_t a, int64_t b) { return floor_divide(a, b); }},
    {"t1[q] % t2[q]", [](int64_t a, int64_t b) { return b == 0 ? 0 : a - floor_divide(a, b) * b; }},
    {"t1[q] + t2[q]", [](int64_t a, int64_t b) { return a + b; }},
    {"t1[q] - t2[q]", [](int64_t a, int64_t b) { return a - b; }},
    {"t1[q] * t2[q]", [](int64_t a, int64_t b) { return a * b; }},
    {"-t1[q] + 0 * t2[q]", [](int64_t a, int64_t) { return -a; }},
    {"abs(t1[q]) + 0 * t2[q]", [](int64_t a, int64_t) { return std::abs(a); }},
    {"min(t1[q], t2[q])", [](int64_t a, int64_t b) { return std::min(a, b); }},
    {"max(t1[q], t2[q])", [](int64_t a, int64_t b) { return std::max(a, b); }},
    {"t1[q] < t2[q] ? 1 : t1[q] == t2[q] ? 2 : t1[q] >= 7 ? 3 : 4",
     [](int64_t a, int64_t b) {
       return a < b ? 1 : a == b ? 2 : a >= 7 ? 3 : 4;
     }},
};

struct Kernel {
  const char* name;
  const char* family;
  const char* cpu_level;  // nullptr: the device's own
  int emulated = 0;       // compute capability
};

class ModifierFunctions : public testing::TestWithParam<Kernel> {
 protected:
  void SetUp() override {
    if (GetParam().cpu_level) ::setenv("FFPA_JIT_CPU_LEVEL", GetParam().cpu_level, 1);
    ffpa::RuntimeOptions options;
    options.cache_dir = directory_.path();
    runtime_ = std::make_unique<ffpa::Runtime>(std::move(options));
  }
  void TearDown() override { ::unsetenv("FFPA_JIT_CPU_LEVEL"); }

  // The value of the expression for every row; empty when there is no compiler here.
  std::vector<float> values_of(const std::string& text, int64_t rows) {
    std::vector<float> zeros(static_cast<size_t>(rows) * 8, 0), out(zeros.size());
    std::vector<float> lse(static_cast<size_t>(rows));
    ffpa::Attention args;
    args.q = ffpa::tensor(zeros.data(), FFPA_JIT_FP32, {1, 1, rows, 8});
    args.k = args.v = ffpa::tensor(zeros.data(), FFPA_JIT_FP32, {1, 1, 1, 8});
    args.o = ffpa::tensor(out.data(), FFPA_JIT_FP32, {1, 1, rows, 8});
    args.lse = ffpa::tensor(lse.data(), FFPA_JIT_FP32, {1, 1, rows});
    args.score_modifier = text.c_str();
    const auto given = [&](int i) {
      return text.find("t" + std::to_string(i)) != std::string::npos;
    };
    if (given(0)) args.modifier_tensors[0] = ffpa::tensor(floats().data(), FFPA_JIT_FP32, {rows});
    if (given(1)) args.modifier_tensors[1] = ffpa::tensor(ints().a.data(), FFPA_JIT_INT32, {rows});
    if (given(2)) args.modifier_tensors[2] = ffpa::tensor(ints().b.data(), FFPA_JIT_INT32, {rows});
    args.family = GetParam().family;
    if (GetParam().emulated) {
      args.device_kind = FFPA_JIT_EMULATED_CUDA;
      args.device_index = GetParam().emulated;
    }
    try {
      runtime_->forward(args);
    } catch (const ffpa::Error& error) {
      reason_ = error.what();
      EXPECT_EQ(error.status(), FFPA_JIT_NO_COMPILER) << error.what();
      return {};
    }
    return lse;
  }

  test::TemporaryDirectory directory_;
  std::unique_ptr<ffpa::Runtime> runtime_;
  std::string reason_;
};

std::string with_finite_ends(const std::string& f) {
  return "(" + f + ") != (" + f + ") ? 7e7 : (" + f + ") > 3.3e38 ? 8e8 : (" + f +
         ") < -3.3e38 ? -8e8 : (" + f + ")";
}

TEST_P(ModifierFunctions, OfFloats) {
  const auto rows = static_cast<int64_t>(floats().size());
  for (const OfFloat& f : kOfFloats) {
    const std::vector<float> got = values_of(with_finite_ends(f.text), rows);
    if (got.empty()) GTEST_SKIP() << reason_;
    for (size_t i = 0; i < got.size(); ++i) {
      double want = f.meaning(floats()[i]);
      want = want != want ? kUndefined : want > 3.3e38 ? kAbove : want < -3.3e38 ? kBelow : want;
      // Numbers below the normal range may be 0, as an argument and as a result.
      if (std::abs(floats()[i]) < 1.2e-38f && floats()[i] != 0) continue;
      EXPECT_LE(std::abs(got[i] - want), f.tolerance * std::max(1.0, std::abs(want)) + 1.2e-38)
          << f.text << " of " << floats()[i] << " is " << want << ", got " << got[i];
    }
  }
}

TEST_P(ModifierFunctions, OfInts) {
  const auto rows = static_cast<int64_t>(ints().a.size());
  for (const OfInts& f : kOfInts) {
    const std::vector<float> got = values_of(f.text, rows);
    if (got.empty()) GTEST_SKIP() << reason_;
    for (size_t i = 0; i < got.size(); ++i) {
      const auto want = static_cast<float>(wrap(f.meaning(ints().a[i], ints().b[i])));
      EXPECT_EQ(got[i], want) << f.text << " of " << ints().a[i] << ", " << ints().b[i];
    }
  }
}

// log2 of a power of two is exact: buckets of a relative bias depend on it.
TEST_P(ModifierFunctions, PowersOfTwo) {
  const std::vector<float> got = values_of("int(log2(exp2(q)))", 100);
  if (got.empty()) GTEST_SKIP() << reason_;
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], static_cast<float>(i));
}

INSTANTIATE_TEST_SUITE_P(Kernels, ModifierFunctions,
                         testing::Values(Kernel{"portable", "portable", nullptr},
                                         Kernel{"sdpa_x86_64", "sdpa", "x86-64"},
                                         Kernel{"sdpa_best", "sdpa", nullptr},
                                         Kernel{"sdpa_sm_80", "sdpa", nullptr, 80}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace ffpa_jit::properties
