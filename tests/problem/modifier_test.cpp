// The score modifier's language: canonical texts, types, errors by their words.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/error.h"
#include "problem/modifier/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data,
                                      size_t size);  // tests/fuzz/fuzz_modifier.cpp

namespace ffpa_jit::modifier {
namespace {

constexpr ModifierTensors kTensors{
    {{DType::kInt32, 2}, {DType::kFp32, 1}, {DType::kFp32, 4}, {DType::kFp32, 0}}};

std::string error_of(std::string_view text) {
  try {
    return "no error: " + canonical(text, kTensors);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), FFPA_JIT_INVALID_ARGUMENT);
    return error.what();
  }
}

TEST(ScoreModifier, CanonicalText) {
  const struct {
    const char* written;
    const char* canonical;
  } cases[] = {
      {"score", "score"},
      {"  score +1 ", "score+1.0"},
      {"score + 1.50", "score+1.5"},
      {"(score) * (0.5)", "score*0.5"},
      {"score - (q - k)", "score-float(q-k)"},
      {"score - q - k", "score-float(q)-float(k)"},
      {"score - exp2(-8 * (h + 1) / nh) * (q + nk - nq - k)",
       "score-exp2(float(-8*(h+1))/float(nh))*float(q+nk-nq-k)"},
      {"where(t0[b, q] == t0[b, k], score, -inf)", "t0[b,q]==t0[b,k]?score:-inf"},
      {"(q < k ? 1 : 2) + score", "float(q<k?1:2)+score"},
      {"q < k ? 1 : k < q ? 2 : score", "q<k?1.0:k<q?2.0:score"},
      {"q", "q"},
      {"7", "7.0"},
      {"-(-7)", "7.0"},
      {"--score", "--score"},
      {"2 * score / 3", "2.0*score/3.0"},
      {"2 * (score / 3)", "2.0*(score/3.0)"},
      {"score + (1 + 2)", "score+float(1+2)"},
      {"h // 4 % 3 * 1.0 + score", "float(h//4%3)*1.0+score"},
      {"h // (4 % 3) + score", "float(h//(4%3))+score"},
      {"!(q == k) && q > 1 || k != 2 ? score : -1e30", "!(q==k)&&q>1||k!=2?score:-1e+30"},
      {"(q == k) && (q > 1 || k != 2) ? score : .5", "q==k&&(q>1||k!=2)?score:0.5"},
      {"t1[h] + t2[b, h, q, k]", "t1[h]+t2[b,h,q,k]"},
      {"t1[min(max(q - k + 8, 0), int(15.5))] + score", "t1[min(max(q-k+8,0),int(15.5))]+score"},
      {"max(score, 2)", "max(score,2.0)"},
      {"min(q, k)", "min(q,k)"},
      {"floor(q / 2) + tanh(score)", "floor(float(q)/2.0)+tanh(score)"},
      {"inf", "inf"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(canonical(c.written, kTensors), c.canonical) << c.written;
    EXPECT_EQ(text_of(parse(c.canonical, kTensors)), c.canonical);
  }
}

TEST(ScoreModifier, ErrorsNameColumnAndWhatIsAllowed) {
  const struct {
    const char* written;
    const char* message;
  } cases[] = {
      {"", "column 1: found the end; allowed: a number, a name, a function or \"(\""},
      {"score +", "column 8: found the end"},
      {"score score", "column 7: found \"score\"; allowed: an operator or the end"},
      {"scoer", "column 1: found \"scoer\"; allowed: score, b, h, q, k, nq, nk, nh, t0 to t3"},
      {"q < k", "column 1: found bool; allowed: a number as the result"},
      {"score % 2", "column 1: found float; allowed: int: write int(x) to convert"},
      {"q // 2.0", "column 6: found float; allowed: int"},
      {"q && k < 2 ? score : 0", "column 1: found int; allowed: bool"},
      {"score ? 1 : 2", "column 1: found float; allowed: bool"},
      {"(q < k) + 1", "column 1: found bool; allowed: a number"},
      {"t3[b]",
       "column 1: found \"t3\"; allowed: a tensor that is given (modifier_tensors[3] is not)"},
      {"t0[b]", "column 5: found \"]\"; allowed: 2 indices (t0 has rank 2)"},
      {"t0[b, q, k]", "column 8: found \",\"; allowed: \"]\" after 2 indices"},
      {"t1[score]", "column 4: found float; allowed: int"},
      {"t1 + 1", "column 4: found \"+\"; allowed: \"[\" and 1 index"},
      {"exp score", "column 5: found \"score\"; allowed: \"(\" after a function"},
      {"min(score)", "column 10: found \")\"; allowed: \",\": min takes two numbers"},
      {"where(q < k, score)", "column 19: found \")\""},
      {"99999999999", "found \"99999999999\"; allowed: whole numbers to 2147483647"},
      {"1e99", "found \"1e99\"; allowed: numbers like 2, 0.5 or 1e-3"},
      {"3k", "found \"3k\""},
      {"score & 1", "column 7: found \"&\""},
      {"score = 1", "column 7: found \"=\""},
      {"score; 1", "column 6: found \";\""},
      {"q < k < 3 ? score : 0", "column 1: found bool; allowed: a number"},
      {"score\x01", "column 6: found \"\\x01\""},
  };
  for (const auto& c : cases) {
    EXPECT_NE(error_of(c.written).find(c.message), std::string::npos)
        << c.written << "\n  " << error_of(c.written);
  }
}

TEST(ScoreModifier, Limits) {
  EXPECT_NE(error_of(std::string(3000, ' ') + "q").find("3001 characters; allowed: up to 2048"),
            std::string::npos);
  EXPECT_NE(
      error_of(std::string(200, '(') + "q" + std::string(200, ')')).find("64 levels of nesting"),
      std::string::npos);
  EXPECT_NE(error_of(std::string(200, '-') + "q").find("64 levels of nesting"), std::string::npos);
  std::string longest = "score";
  while (longest.size() < 2040) longest += "+q/k";
  const std::string text = canonical(longest, kTensors);
  EXPECT_EQ(text_of(parse(text, kTensors)), text);
}

// Random texts of the language: canonical() of what parses is a fixed point.
TEST(ScoreModifier, CanonicalIsAFixedPoint) {
  static const char* kTokens[] = {"score", "q",   "k",  "h",      "nk",   "1",   "2.5",  "(",
                                  ")",     "+",   "-",  "*",      "/",    "//",  "%",    "<",
                                  "==",    "&&",  "||", "!",      "?",    ":",   "min(", ",",
                                  "exp(",  "t1[", "]",  "float(", "int(", "inf", "-inf", "where("};
  std::mt19937 random(1);
  int parsed = 0;
  for (int i = 0; i < 200000; ++i) {
    std::string text;
    for (int n = 1 + static_cast<int>(random() % 9); n > 0; --n)
      text += kTokens[random() % std::size(kTokens)];
    std::string first;
    try {
      first = canonical(text, kTensors);
    } catch (const Error&) {
      continue;
    }
    ++parsed;
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    ASSERT_EQ(text_of(parse(first, kTensors)), first) << text;
    ASSERT_EQ(canonical(first, kTensors), first) << text;
  }
  EXPECT_GT(parsed, 1000);
}

}  // namespace
}  // namespace ffpa_jit::modifier
