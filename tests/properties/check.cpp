#include "properties/check.h"

#include <gtest/gtest.h>

#include "reference/attention_reference.h"
#include "reference/comparison.h"

namespace ffpa_jit::properties {

void expect_right(const RandomProblem& problem) {
  const ffpa_jit_attention_args& args = problem.args();
  const reference::AttentionResult expected = reference::attention_reference(args);
  const reference::AttentionResult plain = reference::plain_attention(args);
  const reference::AttentionResult result = reference::read_result(args);
  constexpr DType kDtypes[] = {DType::kFp32, DType::kFp16, DType::kBf16};
  const double plain_error = reference::relative_error(plain.o, expected.o);
  EXPECT_LE(reference::relative_error(result.o, expected.o),
            reference::error_bar(plain_error, kDtypes[args.q.dtype], expected.o.size()))
      << problem.text() << "\nthe plain implementation's error is " << plain_error;
  if (args.lse.data) {
    const double plain_lse_error = reference::max_error(plain.lse, expected.lse);
    EXPECT_LE(reference::max_error(result.lse, expected.lse),
              reference::lse_error_bar(plain_lse_error))
        << problem.text() << "\nthe plain implementation's LSE error is " << plain_lse_error;
  }
  EXPECT_TRUE(problem.output_gaps_untouched())
      << problem.text() << "\nwrote between the rows of O or LSE";
}

}  // namespace ffpa_jit::properties
