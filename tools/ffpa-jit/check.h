// How right a computed O and LSE are: against the fp64 reference, within 1.2 times the error of the
// plain unfused implementation (reference/comparison.h), and against the expected output of a file
// where there is one.
#pragma once

#include <cstdint>
#include <optional>

#include "ffpa-jit/host_problem.h"

namespace ffpa_jit::cli {

struct Check {
  double rel_error = 0;  // ||O - reference|| / ||reference||, over the checked rows
  double tolerance = 0;
  double plain_error = 0;  // of the plain implementation, over the same rows
  int64_t checked_rows = 0;
  int64_t rows = 0;  // batch * heads * queries
  std::optional<double> lse_error;
  double lse_tolerance = 0;
  std::optional<double> expected_error;  // ||O - out|| / ||out||, over all rows
  double expected_tolerance = 0;
  bool ok = false;
};

enum class CheckRows {
  kSome,
  kAll
};  // kSome: all rows of a small problem, a random sample of a large one

// O and LSE are read from the problem's memory.
Check check(const HostProblem& problem, CheckRows rows, uint64_t seed);

}  // namespace ffpa_jit::cli
