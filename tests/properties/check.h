// The verdict on one random problem that has been run: gtest expectations against the fp64
// reference.
#pragma once

#include "properties/random_problem.h"

namespace ffpa_jit::properties {

// Expects O and LSE under the error bar and nothing written between rows.
void expect_right(const RandomProblem& problem);

}  // namespace ffpa_jit::properties
