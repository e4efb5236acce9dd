#include "properties/check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/attention_reference.h"
#include "reference/comparison.h"

namespace ffpa_jit::properties {
namespace {

constexpr DType kDtypes[] = {DType::kFp32, DType::kFp16, DType::kBf16};  // by ffpa_jit_dtype

}  // namespace

void Judge::expect_right(const ffpa_jit_attention_args& args, const std::string& text,
                         bool gaps_untouched) {
  const reference::AttentionResult expected = reference::attention_reference(args);
  const reference::AttentionResult plain = reference::plain_attention(args);
  const reference::AttentionResult result = reference::read_result(args);

  const double plain_error = reference::relative_error(plain.o, expected.o);
  const double error = reference::relative_error(result.o, expected.o);
  EXPECT_LE(error, reference::error_bar(plain_error, kDtypes[args.q.dtype], expected.lse.size()))
      << text << "\nthe plain implementation's error is " << plain_error;
  if (args.lse.data) {
    const double plain_lse_error = reference::max_error(plain.lse, expected.lse);
    EXPECT_LE(reference::max_error(result.lse, expected.lse),
              reference::lse_error_bar(plain_lse_error))
        << text << "\nthe plain implementation's LSE error is " << plain_lse_error;
  }
  EXPECT_TRUE(gaps_untouched) << text << "\nwrote between the rows of O or LSE";

  // With one visible key, say, neither rounds at all.
  if (plain_error == 0 || error == 0 || !std::isfinite(error)) return;
  ratios_[args.q.dtype].log_sum += std::log(error / plain_error);
  ++ratios_[args.q.dtype].count;
}

void Judge::expect_accurate_on_average() const {
  for (int dtype = 0; dtype < 3; ++dtype) {
    const Ratios& ratios = ratios_[dtype];
    if (ratios.count < 10) continue;
    const double mean = std::exp(ratios.log_sum / static_cast<double>(ratios.count));
    EXPECT_LE(mean, 1.2) << name_of(kDtypes[dtype]) << ", " << ratios.count << " problems";
    testing::Test::RecordProperty(
        std::string("error_over_plain_") + std::string(name_of(kDtypes[dtype])),
        std::to_string(mean));
  }
}

}  // namespace ffpa_jit::properties
