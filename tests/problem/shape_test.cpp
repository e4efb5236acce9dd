#include <gtest/gtest.h>

#include <functional>

#include "problem/expect_error.h"
#include "problem/problem.h"

namespace ffpa_jit {
namespace {

constexpr ffpa_jit_status kInvalid = FFPA_JIT_INVALID_ARGUMENT;

Problem grouped(int group) {
  Problem p;
  p.gqa_group = group;
  return p;
}

Shape dense(int64_t batch, int64_t heads_q, int64_t heads_kv, int64_t seqlen_q, int64_t seqlen_k) {
  return {batch, heads_q, heads_kv, seqlen_q, seqlen_k, batch * seqlen_q, batch * seqlen_k};
}

TEST(ShapeText, DenseAndPacked) {
  EXPECT_EQ(text_of(dense(1, 32, 8, 8192, 8192)), "b=1 hq=32 hkv=8 nq=8192 nk=8192");
  Shape s = dense(3, 4, 4, 100, 100);
  s.total_q = 120;
  s.total_k = 250;
  EXPECT_EQ(text_of(s), "b=3 hq=4 hkv=4 nq=100 nk=100 tq=120 tk=250");
}

TEST(ValidateShape, AcceptsWhatIsLegal) {
  EXPECT_NO_THROW(validate(grouped(4), dense(1, 32, 8, 8192, 8192)));
  EXPECT_NO_THROW(
      validate(grouped(1), dense(2, 3, 3, 7, 5)));  // fewer keys is legal without causal
  Problem causal;
  causal.causal = causal.window_right = true;
  EXPECT_NO_THROW(validate(causal, dense(1, 1, 1, 5, 5)));
  EXPECT_NO_THROW(validate(causal, dense(1, 1, 1, 1, 4096)));
}

TEST(ValidateShape, EmptyDimensionsAreLegal) {
  Problem p;
  for (const Shape& s : {dense(0, 1, 1, 4, 4), dense(1, 0, 0, 4, 4), dense(1, 1, 1, 0, 4),
                         dense(1, 1, 1, 4, 0), dense(0, 0, 0, 0, 0)}) {
    EXPECT_NO_THROW(validate(p, s)) << text_of(s);
  }
  // No keys at all: every row is empty, causal or not.
  p.causal = p.window_right = true;
  EXPECT_NO_THROW(validate(p, dense(1, 1, 1, 4, 0)));
}

TEST(ValidateShape, NamesTheFieldWhatWasAskedAndWhatIsAllowed) {
  const struct {
    std::function<void(Problem&, Shape&)> change;
    std::string_view message;
  } cases[] = {
      {[](Problem&, Shape& s) { s.batch = -1; }, "batch is -1; allowed: 0 to 2147483647"},
      {[](Problem&, Shape& s) { s.heads_q = -4; }, "heads_q is -4; allowed: 0 to 2147483647"},
      {[](Problem&, Shape& s) { s.heads_kv = -4; }, "heads_kv is -4; allowed: 0 to 2147483647"},
      {[](Problem&, Shape& s) { s.seqlen_q = int64_t{1} << 31; },
       "seqlen_q is 2147483648; allowed: 0 to 2147483647"},
      {[](Problem&, Shape& s) { s.seqlen_k = INT64_MIN; },
       "seqlen_k is -9223372036854775808; allowed: 0 to 2147483647"},
      {[](Problem&, Shape& s) { s.total_q = -1; },
       "total_q is -1; allowed: 0 to 9223372036854775807"},
      {[](Problem&, Shape& s) { s.total_q = 11; },
       "total_q is 11; allowed: batch * seqlen_q = 20 (layout bhnd)"},
      {[](Problem&, Shape& s) { s.total_k = 0; },
       "total_k is 0; allowed: batch * seqlen_k = 24 (layout bhnd)"},
      {[](Problem&, Shape& s) { s.heads_q = 6; },
       "heads_q is 6 with heads_kv 4 and gqa_group 2; allowed: heads_q = heads_kv * gqa_group"},
      {[](Problem& p, Shape& s) {
         p.causal = p.window_right = true;
         s.seqlen_k = 9;
         s.total_k = 18;
       },
       "causal with seqlen_k 9 and seqlen_q 10; allowed: seqlen_k >= seqlen_q (causal is aligned "
       "to the last "
       "key), or seqlen_k = 0; for other alignments give a mask"},
      {[](Problem& p, Shape& s) {
         p.layout = Layout::kVarlen;
         s.total_k = int64_t{1} << 31;
       },
       "total_k is 2147483648; allowed: 0 to 2147483647"},
  };
  for (const auto& c : cases) {
    Problem p = grouped(2);
    Shape s = dense(2, 8, 4, 10, 12);
    ASSERT_NO_THROW(validate(p, s));
    c.change(p, s);
    EXPECT_FFPA_ERROR(validate(p, s), kInvalid, c.message);
  }
}

TEST(ValidateShape, ProductsMayNotPassInt64) {
  constexpr int64_t kMax = INT32_MAX;
  EXPECT_FFPA_ERROR(
      validate(grouped(1), dense(kMax, kMax, kMax, 1, 1)), kInvalid,
      "total_q * heads_q * head_dim * element size is 2147483647 * 2147483647 * 64 * 2; allowed: "
      "less than 2^63");
  EXPECT_FFPA_ERROR(
      validate(grouped(1), dense(64, 64, 64, kMax, kMax)), kInvalid,
      "batch * heads_q * seqlen_q * seqlen_k is 64 * 64 * 2147483647 * 2147483647; allowed: less "
      "than 2^63");
  // 2^31 - 1 queries and keys of one head fit: (2^31 - 1)^2 < 2^62.
  EXPECT_NO_THROW(validate(grouped(1), dense(1, 1, 1, kMax, kMax)));
  // The largest sizes everywhere, and nothing at all: a zero factor makes the product zero.
  EXPECT_NO_THROW(validate(grouped(1), dense(0, kMax, kMax, kMax, kMax)));
}

TEST(ValidateShape, VarlenTotalsAreTheCallersAndCausalIsPerSequence) {
  Problem p;
  p.layout = Layout::kVarlen;
  p.causal = p.window_right = true;
  Shape s =
      dense(2, 1, 1, 10,
            5);  // upper bounds: whether a sequence has fewer keys is known on the device only
  s.total_q = 13;
  s.total_k = 9;
  EXPECT_NO_THROW(validate(p, s));
  s.total_q = 1000;  // a buffer longer than the sequences in it
  EXPECT_NO_THROW(validate(p, s));
}

TEST(ValidateShape, ChecksTheProblemToo) {
  Problem p;
  p.head_dim = 0;
  EXPECT_FFPA_ERROR(validate(p, dense(1, 1, 1, 1, 1)), kInvalid,
                    "head_dim is 0; allowed: 1 to 2048");
}

}  // namespace
}  // namespace ffpa_jit
