// The verdict on random problems that have been run: gtest expectations against the fp64 reference.
#pragma once

#include <cstddef>
#include <string>

#include "properties/random_problem.h"

namespace ffpa_jit::properties {

class Judge {
 public:
  // Expects O and LSE of one problem under the error bar and nothing written between rows.
  // `Problem` is RandomProblem or RandomFeatures.
  template <typename Problem>
  void expect_right(const Problem& problem) {
    expect_right(problem.args(), problem.text(), problem.output_gaps_untouched());
  }

  // The bar of a small problem is wide: its few rows say little about accuracy. Expects, per dtype,
  // that the errors of all problems so far are on average (geometric mean) no more than 1.2 x those
  // of the plain implementation.
  void expect_accurate_on_average() const;

 private:
  void expect_right(const ffpa_jit_attention_args& args, const std::string& text,
                    bool gaps_untouched);

  struct Ratios {
    double log_sum = 0;
    size_t count = 0;
  };
  Ratios ratios_[3];  // by ffpa_jit_dtype
};

}  // namespace ffpa_jit::properties
