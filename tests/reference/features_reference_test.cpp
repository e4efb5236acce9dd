// The judge on score modifiers, sinks, lengths and pages: each is compared with the same thing said
// in another way that attention_fixtures.json already vouches for: a modifier as a bias or mask
// computed here in C++, a sink as one more key, lengths as shorter tensors, pages as a dense
// tensor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ffpa_jit/ffpa_jit.hpp"
#include "reference/attention_reference.h"
#include "reference/comparison.h"

namespace ffpa_jit::reference {
namespace {

constexpr int64_t kBatch = 2, kHeads = 4, kHeadsKv = 2, kRows = 9, kKeys = 13, kDim = 6;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Call {
  Call() {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (auto* memory : {&q, &k, &v}) {
      memory->resize(kBatch * kHeads * kKeys * kDim);
      for (float& x : *memory) x = normal(random);
    }
    args.q = ffpa::tensor(q.data(), FFPA_JIT_FP32, {kBatch, kHeads, kRows, kDim});
    args.k = ffpa::tensor(k.data(), FFPA_JIT_FP32, {kBatch, kHeadsKv, kKeys, kDim});
    args.v = ffpa::tensor(v.data(), FFPA_JIT_FP32, {kBatch, kHeadsKv, kKeys, kDim});
  }
  std::vector<float> q, k, v;
  ffpa::Attention args;
};

void expect_same(const ffpa_jit_attention_args& a, const ffpa_jit_attention_args& b,
                 const std::string& what) {
  const AttentionResult left = attention_reference(a), right = attention_reference(b);
  EXPECT_LE(relative_error(left.o, right.o), 1e-6) << what;
  EXPECT_LE(max_error(left.lse, right.lse), 1e-6) << what;
}

// What is added to the score of (b, h, q, k); -infinity hides.
using Addend = std::function<float(int b, int h, int q, int k)>;

struct Example {
  const char* text;
  Addend addend;
};

float slope(int h) { return std::exp2(-8.0f * static_cast<float>(h + 1) / float{kHeads}); }

class ModifierReference : public testing::Test {
 protected:
  ModifierReference() {
    for (int i = 0; i < kBatch * kKeys; ++i) documents.push_back(i * 5 / 13 % 3);
    for (int i = 0; i < kHeads * 7; ++i) relative.push_back(std::sin(static_cast<float>(i)));
  }

  void check(const Example& example) {
    Call with, without;
    with.args.score_modifier = example.text;
    with.args.modifier_tensors[0] = ffpa::tensor(documents.data(), FFPA_JIT_INT32, {kBatch, kKeys});
    with.args.modifier_tensors[1] = ffpa::tensor(relative.data(), FFPA_JIT_FP32, {kHeads, 7});
    std::vector<float> bias;
    for (int b = 0; b < kBatch; ++b) {
      for (int h = 0; h < kHeads; ++h) {
        for (int q = 0; q < kRows; ++q) {
          for (int k = 0; k < kKeys; ++k) bias.push_back(example.addend(b, h, q, k));
        }
      }
    }
    without.args.bias = ffpa::tensor(bias.data(), FFPA_JIT_FP32, {kBatch, kHeads, kRows, kKeys});
    for (const bool causal : {false, true}) {
      with.args.is_causal = without.args.is_causal = causal;
      expect_same(with.args, without.args, example.text);
    }
  }

  std::vector<int32_t> documents;
  std::vector<float> relative;
};

TEST_F(ModifierReference, AsABias) {
  const auto at = [](int q, int k) { return q + static_cast<int>(kKeys - kRows) - k; };
  const auto hide = [](bool shown) { return shown ? 0.0f : -kInfinity; };
  const Example examples[] = {
      {"score - exp2(-8 * (h + 1) / nh) * (q + nk - nq - k)",
       [&](int, int h, int q, int k) { return -slope(h) * static_cast<float>(at(q, k)); }},
      {"t0[b, q] == t0[b, k] ? score : -inf",
       [&](int b, int, int q, int k) {
         return hide(documents[b * kKeys + q] == documents[b * kKeys + k]);
       }},
      {"where(t0[b, k] == 1 || k == 0, score, -inf)",
       [&](int b, int, int, int k) { return hide(documents[b * kKeys + k] == 1 || k == 0); }},
      {"score + t1[h, min(max(q + nk - nq - k + 3, 0), 6)]",
       [&](int, int h, int q, int k) { return relative[h * 7 + std::clamp(at(q, k) + 3, 0, 6)]; }},
      // Indices that leave the tensor are clamped into it.
      {"score + t1[h, q + nk - nq - k + 3]",
       [&](int, int h, int q, int k) { return relative[h * 7 + std::clamp(at(q, k) + 3, 0, 6)]; }},
      {"score + (q - k) // 4 + (q - k) % 5 - k // 0 - k % 0",
       [](int, int, int q, int k) {
         const double d = q - k;
         return static_cast<float>(std::floor(d / 4) + (d - 5 * std::floor(d / 5)));
       }},
      {"score + (q < k && !(h == 1) ? 1.5 : q / 2)",
       [](int, int h, int q, int k) { return q < k && h != 1 ? 1.5f : static_cast<float>(q) / 2; }},
      {"score + int(-2.75) + int(1e20) * 0 + int(log(-1)) + abs(q - k) - max(q, k) + min(h, 2)",
       [](int, int h, int q, int k) {
         return -2.0f + static_cast<float>(std::abs(q - k) - std::max(q, k) + std::min(h, 2));
       }},
      {"score + floor(q / 2) + sqrt(k) - tanh(h) + log(k + 1) + log2(q + 1) - exp(-k) * exp2(-q)",
       [](int, int h, int q, int k) {
         return std::floor(static_cast<float>(q) / 2) + std::sqrt(static_cast<float>(k)) -
                std::tanh(static_cast<float>(h)) + std::log(static_cast<float>(k + 1)) +
                std::log2(static_cast<float>(q + 1)) -
                std::exp(-static_cast<float>(k)) * std::exp2(-static_cast<float>(q));
       }},
  };
  for (const Example& example : examples) {
    // Tensors that an example does not name are not its own.
    check(example);
  }
}

TEST(ModifierReferenceAlone, OfTheScoreItself) {
  Call with, without;
  with.args.score_modifier = "2 * tanh(score / 2)";
  without.args.softcap = 2;
  expect_same(with.args, without.args, "softcap");

  // After scale and softcap, before bias and mask.
  std::vector<float> bias(kRows * kKeys, 0.5f);
  std::vector<uint8_t> mask(kKeys, 1);
  mask[3] = 0;
  for (Call* call : {&with, &without}) {
    call->args.has_softmax_scale = 1;
    call->args.bias = ffpa::tensor(bias.data(), FFPA_JIT_FP32, {kRows, kKeys});
    call->args.mask = ffpa::tensor(mask.data(), FFPA_JIT_BOOL, {1, kKeys});
  }
  with.args.score_modifier = "score * 3";
  with.args.softmax_scale = 0.2;
  without.args.softcap = 0;
  without.args.softmax_scale = 0.2 * 3;
  expect_same(with.args, without.args, "scale");
}

TEST(SinksReference, AreOneMoreKey) {
  Call with, without;
  std::vector<float> sinks{0.5f, -1, 3, -kInfinity};
  with.args.sinks = ffpa::tensor(sinks.data(), FFPA_JIT_FP32, {kHeads});
  // One more key, of K = 0 and V = 0, whose bias is the sink.
  std::vector<float> k, v, bias;
  for (int64_t i = 0; i < kBatch * kHeadsKv; ++i) {
    for (auto [to, from] : {std::pair{&k, &with.k}, std::pair{&v, &with.v}}) {
      to->insert(to->end(), from->begin() + i * kKeys * kDim,
                 from->begin() + (i + 1) * kKeys * kDim);
      to->insert(to->end(), kDim, 0.0f);
    }
  }
  for (int64_t h = 0; h < kHeads; ++h) {
    bias.insert(bias.end(), kKeys, 0.0f);
    bias.push_back(sinks[h]);
  }
  without.args.k = ffpa::tensor(k.data(), FFPA_JIT_FP32, {kBatch, kHeadsKv, kKeys + 1, kDim});
  without.args.v = ffpa::tensor(v.data(), FFPA_JIT_FP32, {kBatch, kHeadsKv, kKeys + 1, kDim});
  without.args.bias = ffpa::tensor(bias.data(), FFPA_JIT_FP32, {1, kHeads, 1, kKeys + 1});
  expect_same(with.args, without.args, "sinks");
}

TEST(SinksReference, ARowThatSeesNothing) {
  Call call;
  std::vector<float> sinks{0.5f, -1, 3, -kInfinity};
  std::vector<uint8_t> mask(kRows * kKeys, 0);
  call.args.sinks = ffpa::tensor(sinks.data(), FFPA_JIT_FP32, {kHeads});
  call.args.mask = ffpa::tensor(mask.data(), FFPA_JIT_BOOL, {kRows, kKeys});
  const AttentionResult result = attention_reference(call.args);
  for (double o : result.o) EXPECT_EQ(o, 0);
  for (size_t i = 0; i < result.lse.size(); ++i)
    EXPECT_EQ(result.lse[i], sinks[i / kRows % kHeads]);
}

TEST(LengthsReference, AreShorterTensors) {
  for (const bool causal : {false, true}) {
    Call whole;
    std::vector<int32_t> lengths{
        11, 4};  // fewer than rows: the first rows of a causal call see nothing
    whole.args.seqlens_k = ffpa::tensor(lengths.data(), FFPA_JIT_INT32, {kBatch});
    whole.args.is_causal = causal;
    const AttentionResult all = attention_reference(whole.args);
    for (int64_t b = 0; b < kBatch; ++b) {
      Call one;
      one.args = whole.args;
      one.args.seqlens_k = {};
      for (ffpa_jit_tensor* t : {&one.args.q, &one.args.k, &one.args.v}) {
        t->data = static_cast<float*>(t->data) + b * t->strides[0];
        t->sizes[0] = 1;
      }
      one.args.k.sizes[2] = one.args.v.sizes[2] = lengths[b];
      const AttentionResult part = attention_reference(one.args);
      const auto slice = [&](const std::vector<double>& x) {
        const auto n = static_cast<int64_t>(x.size()) / kBatch;
        return std::vector<double>(x.begin() + b * n, x.begin() + (b + 1) * n);
      };
      EXPECT_EQ(relative_error(slice(all.o), part.o), 0);
      EXPECT_EQ(max_error(slice(all.lse), part.lse), 0);
    }
  }
}

TEST(PagesReference, AreADenseTensor) {
  for (const int layout : {FFPA_JIT_BHND, FFPA_JIT_BNHD}) {
    Call dense;
    std::vector<int32_t> lengths{13, 6};
    dense.args.seqlens_k = ffpa::tensor(lengths.data(), FFPA_JIT_INT32, {kBatch});
    ffpa::Attention paged = dense.args;
    // Pages of 4 keys; sequence 0 lies in pages 5, 0, 3, 2 and sequence 1 in 4, 1.
    constexpr int64_t kPage = 4, kPages = 6, kWide = 4;
    std::vector<int32_t> table{5, 0, 3, 2, 4, 1, -1, 1 << 30};
    paged.block_table = ffpa::tensor(table.data(), FFPA_JIT_INT32, {kBatch, kWide});
    std::vector<float> pools[2];
    const std::vector<float>* sources[] = {&dense.k, &dense.v};
    ffpa_jit_tensor* tensors[] = {&paged.k, &paged.v};
    for (int i = 0; i < 2; ++i) {
      pools[i].assign(kPages * kPage * kHeadsKv * kDim, std::numeric_limits<float>::quiet_NaN());
      *tensors[i] =
          layout == FFPA_JIT_BHND
              ? ffpa::tensor(pools[i].data(), FFPA_JIT_FP32, {kPages, kHeadsKv, kPage, kDim})
              : ffpa::tensor(pools[i].data(), FFPA_JIT_FP32, {kPages, kPage, kHeadsKv, kDim});
      for (int64_t b = 0; b < kBatch; ++b) {
        for (int64_t h = 0; h < kHeadsKv; ++h) {
          for (int64_t key = 0; key < lengths[b]; ++key) {
            const int64_t page = table[b * kWide + key / kPage], row = key % kPage;
            const int64_t at = layout == FFPA_JIT_BHND ? (page * kHeadsKv + h) * kPage + row
                                                       : (page * kPage + row) * kHeadsKv + h;
            std::copy_n(sources[i]->begin() + ((b * kHeadsKv + h) * kKeys + key) * kDim, kDim,
                        pools[i].begin() + at * kDim);
          }
        }
      }
    }
    std::vector<float> q;  // the dense call is BHND; Q of a BNHD call is transposed
    if (layout == FFPA_JIT_BNHD) {
      paged.layout = layout;
      for (int64_t b = 0; b < kBatch; ++b) {
        for (int64_t r = 0; r < kRows; ++r) {
          for (int64_t h = 0; h < kHeads; ++h) {
            const float* row = dense.q.data() + ((b * kHeads + h) * kRows + r) * kDim;
            q.insert(q.end(), row, row + kDim);
          }
        }
      }
      paged.q = ffpa::tensor(q.data(), FFPA_JIT_FP32, {kBatch, kRows, kHeads, kDim});
    }
    expect_same(paged, dense.args, layout == FFPA_JIT_BHND ? "bhnd" : "bnhd");
  }
}

}  // namespace
}  // namespace ffpa_jit::reference
