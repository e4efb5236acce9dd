// Checks the judge itself: against attention_fixtures.json, which make_fixtures.py computes on its
// own, and by cases whose answer is known without computing.
#include "reference/attention_reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "reference/comparison.h"

namespace ffpa_jit::reference {
namespace {

using nlohmann::json;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> numbers_of(const json& list) {
  std::vector<double> out;
  for (const json& x : list) {
    out.push_back(x.is_number() ? x.get<double>() : std::stod(x.get<std::string>()));
  }
  return out;
}

ffpa_jit_tensor contiguous(void* data, int32_t dtype, const std::vector<int64_t>& sizes) {
  ffpa_jit_tensor t{};
  t.data = data;
  t.dtype = dtype;
  t.rank = static_cast<int32_t>(sizes.size());
  int64_t stride = 1;
  for (int i = t.rank - 1; i >= 0; --i) {
    t.sizes[i] = sizes[i];
    t.strides[i] = stride;
    stride *= sizes[i];
  }
  return t;
}

// One case of the file as arguments, with the memory behind them.
struct Fixture {
  Fixture(const json& c, int32_t dtype) {
    const int64_t b = c["b"], hq = c["hq"], hkv = c["hkv"], nq = c["nq"], nk = c["nk"], d = c["d"],
                  dv = c["dv"];
    const std::string layout = c["layout"];
    const auto sizes = [&](int64_t heads, int64_t rows, int64_t cols) -> std::vector<int64_t> {
      if (layout == "bhnd") return {b, heads, rows, cols};
      return {b, rows, heads, cols};
    };
    args.layout = layout == "bhnd" ? FFPA_JIT_BHND : FFPA_JIT_BNHD;
    args.q = activation(c["q"], dtype, sizes(hq, nq, d));
    args.k = activation(c["k"], dtype, sizes(hkv, nk, d));
    args.v = activation(c["v"], dtype, sizes(hkv, nk, dv));
    if (layout == "varlen") {
      args.layout = FFPA_JIT_VARLEN;
      cu_q = cu_k = {0};
      for (const json& span : c["seqlens"]) {
        cu_q.push_back(cu_q.back() + span[0].get<int>());
        cu_k.push_back(cu_k.back() + span[1].get<int>());
      }
      args.q = contiguous(args.q.data, dtype, {cu_q.back(), hq, d});
      args.k = contiguous(args.k.data, dtype, {cu_k.back(), hkv, d});
      args.v = contiguous(args.v.data, dtype, {cu_k.back(), hkv, dv});
      args.cu_seqlens_q = contiguous(cu_q.data(), FFPA_JIT_INT32, {b + 1});
      args.cu_seqlens_k = contiguous(cu_k.data(), FFPA_JIT_INT32, {b + 1});
      args.max_seqlen_q = nq;
      args.max_seqlen_k = nk;
    }
    if (c.contains("mask")) {
      mask = c["mask"].get<std::vector<uint8_t>>();
      args.mask = contiguous(mask.data(), FFPA_JIT_BOOL, c["mask_sizes"]);
    }
    if (c.contains("bias")) args.bias = activation(c["bias"], FFPA_JIT_FP32, c["bias_sizes"]);
    args.softmax_scale = c["scale"];
    args.has_softmax_scale = 1;
    args.is_causal = c["causal"].get<bool>();
    args.window_left = c["window_left"];
    args.window_right = c["window_right"];
    args.softcap = c["softcap"];
    args.dropout_p = c["dropout_p"];
    args.philox_seed = c["seed"];
    args.philox_offset = c["offset"];
  }

  ffpa_jit_tensor activation(const json& list, int32_t dtype, const std::vector<int64_t>& sizes) {
    const std::vector<double> values = numbers_of(list);
    std::vector<float>& memory =
        storage.emplace_back(values.size());  // room enough for every dtype
    for (size_t i = 0; i < values.size(); ++i) {
      write_element(memory.data(), dtype, i, static_cast<float>(values[i]));
    }
    return contiguous(memory.data(), dtype, sizes);
  }

  ffpa_jit_attention_args args = FFPA_JIT_ATTENTION_ARGS_INIT;
  std::vector<std::vector<float>> storage;
  std::vector<uint8_t> mask;
  std::vector<int32_t> cu_q, cu_k;
};

const json& fixtures() {
  static const json all = json::parse(std::ifstream(FIXTURE_FILE));
  return all;
}

class AttentionReference : public testing::TestWithParam<size_t> {};

TEST_P(AttentionReference, MatchesTheFixtureInEveryDtype) {
  const json& c = fixtures()[GetParam()];
  for (int32_t dtype : {FFPA_JIT_FP32, FFPA_JIT_FP16, FFPA_JIT_BF16}) {
    Fixture fixture(c, dtype);
    const AttentionResult result = attention_reference(fixture.args);
    EXPECT_LT(relative_error(result.o, numbers_of(c["o"])), 1e-13);
    EXPECT_LT(max_error(result.lse, numbers_of(c["lse"])), 1e-13);
  }
}

TEST_P(AttentionReference, PlainAttentionIsNearAndRoundedToTheDtype) {
  const json& c = fixtures()[GetParam()];
  struct Expectation {
    int32_t dtype;
    double bar;
  };
  for (auto [dtype, bar] : {Expectation{FFPA_JIT_FP32, 2e-6}, Expectation{FFPA_JIT_FP16, 2e-3},
                            Expectation{FFPA_JIT_BF16, 1.6e-2}}) {
    Fixture fixture(c, dtype);
    const AttentionResult plain = plain_attention(fixture.args);
    EXPECT_LT(relative_error(plain.o, numbers_of(c["o"])), bar);
    EXPECT_LT(max_error(plain.lse, numbers_of(c["lse"])), 1e-5);
    for (double x : plain.o) {
      float back = 0;
      write_element(&back, dtype, 0, static_cast<float>(x));
      EXPECT_EQ(read_element(&back, dtype, 0), x);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, AttentionReference, testing::Range<size_t>(0, fixtures().size()),
                         [](const auto& info) {
                           return fixtures()[info.param]["name"].template get<std::string>();
                         });

TEST(Comparison, RelativeErrorIsFrobenius) {
  EXPECT_DOUBLE_EQ(relative_error(std::vector{3.0, 4.5}, std::vector{3.0, 4.0}), 0.1);
  EXPECT_EQ(relative_error(std::vector{0.0}, std::vector{0.0}), 0);
  EXPECT_EQ(relative_error(std::vector{1e-30}, std::vector{0.0}), kInfinity);
}

TEST(Comparison, NothingNotFinitePasses) {
  const double nan = std::nan("");
  for (double bad : {nan, kInfinity, -kInfinity}) {
    EXPECT_EQ(relative_error(std::vector{1.0, bad}, std::vector{1.0, 2.0}), kInfinity);
    EXPECT_EQ(max_error(std::vector{1.0, bad}, std::vector{1.0, 2.0}), kInfinity);
    EXPECT_EQ(max_error(std::vector{1.0, 2.0}, std::vector{1.0, bad}), kInfinity);
  }
  EXPECT_EQ(relative_error(std::vector{nan}, std::vector{nan}), kInfinity);
  EXPECT_EQ(max_error(std::vector{-kInfinity, 1.0}, std::vector{-kInfinity, 1.0}), 0);
  EXPECT_EQ(relative_error(std::vector{1.0}, std::vector{1.0, 2.0}), kInfinity);
}

}  // namespace
}  // namespace ffpa_jit::reference
