#include "problem/problem.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "problem/expect_error.h"
#include "problem/random_problem.h"

namespace ffpa_jit {
namespace {

constexpr ffpa_jit_status kInvalid = FFPA_JIT_INVALID_ARGUMENT;

TEST(DType, NamesAndSizes) {
  const struct {
    DType dtype;
    std::string_view name;
    size_t bytes;
  } all[] = {{DType::kFp32, "fp32", 4},
             {DType::kFp16, "fp16", 2},
             {DType::kBf16, "bf16", 2},
             {DType::kBool, "bool", 1},
             {DType::kInt32, "int32", 4}};
  for (const auto& e : all) {
    EXPECT_EQ(name_of(e.dtype), e.name);
    EXPECT_EQ(dtype_of(e.name), e.dtype);
    EXPECT_EQ(bytes_of(e.dtype), e.bytes);
  }
  for (std::string_view wrong : {"", "FP32", "float", "fp32 ", "bf1"})
    EXPECT_FALSE(dtype_of(wrong));
}

TEST(BroadcastPattern, AllSixteenRoundTrip) {
  for (int bits = 0; bits < 16; ++bits) {
    const BroadcastPattern p{(bits & 8) != 0, (bits & 4) != 0, (bits & 2) != 0, (bits & 1) != 0};
    EXPECT_EQ(parse_pattern(text_of(p)), p);
  }
  EXPECT_EQ(text_of(BroadcastPattern{}), "bhqk");
  EXPECT_EQ(text_of(BroadcastPattern{false, false, true, true}), "11qk");
  for (std::string_view wrong : {"", "bhq", "bhqkk", "hbqk", "b0qk", "BHQK"}) {
    EXPECT_THROW(parse_pattern(wrong), Error) << wrong;
  }
  EXPECT_FFPA_ERROR(parse_pattern("qk"), kInvalid,
                    "broadcast pattern is \"qk\"; allowed: \"bhqk\" with 1 in place of a dimension "
                    "that is broadcast");
}

TEST(ProblemText, IsTheDocumentedLine) {
  EXPECT_EQ(text_of(Problem{}), "forward bf16 d=64 dv=64 group=1 layout=bhnd");
  Problem p;
  p.head_dim = p.head_dim_v = 512;
  p.gqa_group = 4;
  p.causal = p.window_right = p.lse = true;
  EXPECT_EQ(text_of(p), "forward bf16 d=512 dv=512 group=4 layout=bhnd causal lse");
  p.dtype = DType::kFp16;
  p.layout = Layout::kVarlen;
  p.window_left = p.has_mask = p.has_bias = p.dropout = p.softcap = true;
  p.mask_pattern = {false, false, true, true};
  p.bias_dtype = DType::kFp16;
  EXPECT_EQ(text_of(p),
            "forward fp16 d=512 dv=512 group=4 layout=varlen causal window=l mask=11qk "
            "bias=fp16:bhqk dropout softcap lse");
  p.causal = false;
  EXPECT_NE(text_of(p).find(" window=lr "), std::string::npos);
  p.window_left = false;
  EXPECT_NE(text_of(p).find(" window=r "), std::string::npos);
}

TEST(ProblemText, RandomProblemsRoundTripAndTextsIdentifyThem) {
  std::mt19937_64 random(1);
  std::map<std::string, Problem> seen;
  for (int i = 0; i < 20'000; ++i) {
    const Problem p = random_problem(random);
    ASSERT_NO_THROW(validate(p)) << text_of(p);
    const std::string text = text_of(p);
    ASSERT_EQ(parse_problem(text), p) << text;
    const auto [entry, added] = seen.emplace(text, p);
    ASSERT_TRUE(added || entry->second == p) << text;
  }
}

TEST(ProblemText, EveryOptionAloneChangesIt) {
  const std::function<void(Problem&)> changes[] = {
      [](Problem& p) { p.dtype = DType::kFp32; },
      [](Problem& p) { p.dtype = DType::kFp16; },
      [](Problem& p) { p.head_dim = 65; },
      [](Problem& p) { p.head_dim_v = 65; },
      [](Problem& p) { p.gqa_group = 2; },
      [](Problem& p) { p.layout = Layout::kBnhd; },
      [](Problem& p) { p.layout = Layout::kVarlen; },
      [](Problem& p) { p.causal = p.window_right = true; },
      [](Problem& p) { p.window_left = true; },
      [](Problem& p) { p.window_right = true; },
      [](Problem& p) { p.has_mask = true; },
      [](Problem& p) {
        p.has_mask = true;
        p.mask_pattern.key = false;
      },
      [](Problem& p) { p.has_bias = true; },
      [](Problem& p) {
        p.has_bias = true;
        p.bias_dtype = DType::kBf16;
      },
      [](Problem& p) {
        p.has_bias = true;
        p.bias_pattern.batch = false;
      },
      [](Problem& p) { p.dropout = true; },
      [](Problem& p) { p.softcap = true; },
      [](Problem& p) { p.lse = true; },
  };
  std::map<std::string, int> texts{{text_of(Problem{}), -1}};
  int index = 0;
  for (const auto& change : changes) {
    Problem p;
    change(p);
    EXPECT_NO_THROW(validate(p)) << index;
    EXPECT_TRUE(texts.emplace(text_of(p), index).second) << text_of(p);
    ++index;
  }
}

TEST(ValidateProblem, NamesTheFieldWhatWasAskedAndWhatIsAllowed) {
  const struct {
    std::function<void(Problem&)> change;
    std::string_view message;
  } cases[] = {
      {[](Problem& p) { p.dtype = DType::kBool; }, "dtype is bool; allowed: fp32, fp16, bf16"},
      {[](Problem& p) { p.dtype = DType::kInt32; }, "dtype is int32; allowed: fp32, fp16, bf16"},
      {[](Problem& p) { p.dtype = static_cast<DType>(77); },
       "dtype is unknown; allowed: fp32, fp16, bf16"},
      {[](Problem& p) { p.direction = static_cast<Direction>(9); },
       "direction is not a known one; allowed: forward"},
      {[](Problem& p) { p.layout = static_cast<Layout>(9); },
       "layout is not a known one; allowed: bhnd, bnhd, varlen"},
      {[](Problem& p) { p.head_dim = 0; }, "head_dim is 0; allowed: 1 to 2048"},
      {[](Problem& p) { p.head_dim = 2049; }, "head_dim is 2049; allowed: 1 to 2048"},
      {[](Problem& p) { p.head_dim = -8; }, "head_dim is -8; allowed: 1 to 2048"},
      {[](Problem& p) { p.head_dim_v = 4096; }, "head_dim_v is 4096; allowed: 1 to 2048"},
      {[](Problem& p) { p.gqa_group = 0; }, "gqa_group is 0; allowed: 1 to 1048576"},
      {[](Problem& p) { p.causal = true; },
       "window_right is false with causal; allowed: true (causal is a right window of 0)"},
      {[](Problem& p) { p.mask_pattern.head = false; },
       "mask_pattern is \"b1qk\"; allowed: \"bhqk\" when there is no mask"},
      {[](Problem& p) { p.bias_pattern.key = false; },
       "bias_pattern is \"bhq1\"; allowed: \"bhqk\" when there is no bias"},
      {[](Problem& p) { p.bias_dtype = DType::kBf16; },
       "bias_dtype is bf16; allowed: fp32 when there is no bias"},
      {[](Problem& p) {
         p.has_bias = true;
         p.bias_dtype = DType::kFp16;
       },
       "bias_dtype is fp16; allowed: fp32 or bf16, the dtype of Q"},
      {[](Problem& p) {
         p.dtype = DType::kFp32;
         p.has_bias = true;
         p.bias_dtype = DType::kBool;
       },
       "bias_dtype is bool; allowed: fp32"},
  };
  for (const auto& c : cases) {
    Problem p;
    c.change(p);
    EXPECT_FFPA_ERROR(validate(p), kInvalid, c.message);
  }
}

TEST(ValidateProblem, LimitsThemselvesAreAllowed) {
  Problem p;
  for (int d : {1, 7, 2048}) {
    p.head_dim = d;
    p.head_dim_v = 2049 - d;
    EXPECT_NO_THROW(validate(p));
  }
  p.gqa_group = kMaxGqaGroup;
  EXPECT_NO_THROW(validate(p));
}

TEST(ParseProblem, ErrorsSayWhereAndWhat) {
  const std::string start = "forward bf16 d=64 dv=64 group=1 layout=bhnd";
  const struct {
    std::string text;
    std::string message;
  } cases[] = {
      {"", "problem text \"\": direction is missing; allowed: forward"},
      {"backward bf16",
       "problem text \"backward bf16\": direction is \"backward\"; allowed: forward"},
      {"forward", "problem text \"forward\": dtype is missing; allowed: fp32, fp16, bf16"},
      {"forward fp8", "problem text \"forward fp8\": dtype is \"fp8\"; allowed: fp32, fp16, bf16"},
      {"forward bf16", "problem text \"forward bf16\": \"d=\" is missing; allowed: 1 to 2048"},
      {"forward bf16 dv=3",
       "problem text \"forward bf16 dv=3\": \"dv=3\" stands where \"d=\" must stand; allowed: 1 to "
       "2048"},
      {"forward bf16 d=0",
       "problem text \"forward bf16 d=0\": d is \"0\"; allowed: a whole number from 1 to 2048"},
      {start + " fast", "problem text \"" + start +
                            " fast\": \"fast\" is not expected here; allowed: causal, window=, "
                            "mask=, bias=, dropout, softcap, modifier= (with t0= to t3=), sinks, "
                            "seqlens_k, page=, accumulate=fp16, lse, in this order, each once"},
      {start + " causal window=r",
       "problem text \"" + start +
           " causal window=r\": window is \"r\"; allowed: l (causal bounds the right side)"},
      {start + " bias=11qk", "problem text \"" + start +
                                 " bias=11qk\": bias is \"11qk\"; allowed: DTYPE:PATTERN, e.g. "
                                 "fp32:11qk"},
      {start + " ",
       "problem text \"" + start + " \": ends in a space; allowed: one space between words"},
  };
  for (const auto& c : cases) {
    EXPECT_FFPA_ERROR(parse_problem(c.text), kInvalid, c.message);
  }
}

TEST(ParseProblem, OneSpellingOnly) {
  const std::string start = "forward bf16 d=64 dv=64 group=1 layout=bhnd";
  ASSERT_NO_THROW(parse_problem(start));
  for (const std::string& wrong : {
           " " + start,
           start + "\n",
           start + "\t lse",
           start + "  lse",
           start + " lse lse",
           start + " lse causal",
           start + " window=",
           start + " window=rl",
           start + " window=ll",
           start + " window=lll",
           start + " mask=",
           start + " mask=bhq",
           start + " mask",
           start + " bias=fp32:bhqk:",
           start + " bias=fp16:bhqk",
           start + " bias=bool:bhqk",
           start + std::string(1, '\0'),
           std::string("forward bf16 d=064 dv=64 group=1 layout=bhnd"),
           std::string("forward bf16 d=+64 dv=64 group=1 layout=bhnd"),
           std::string("forward bf16 d=64.0 dv=64 group=1 layout=bhnd"),
           std::string("forward bf16 d=18446744073709551680 dv=64 group=1 layout=bhnd"),
           std::string("forward bf16 d= dv=64 group=1 layout=bhnd"),
           std::string("forward bf16 dv=64 d=64 group=1 layout=bhnd"),
           std::string("Forward bf16 d=64 dv=64 group=1 layout=bhnd"),
           std::string("forward bool d=64 dv=64 group=1 layout=bhnd"),
           std::string("forward bf16 d=64 dv=64 group=1 layout=nhd"),
       }) {
    EXPECT_THROW(parse_problem(wrong), Error) << wrong;
  }
}

TEST(ParseProblem, MessagesAreShortAndPrintable) {
  std::string text(100'000, '\x01');
  try {
    parse_problem(text);
    FAIL();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_LT(message.size(), 1200u);
    for (char c : message) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  }
}

}  // namespace
}  // namespace ffpa_jit
