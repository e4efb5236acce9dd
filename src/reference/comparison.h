// How a result is judged against the fp64 reference: error measures and the bar they must stay
// under. Called by all tests and by `ffpa-jit run`.
#pragma once

#include <cstddef>
#include <span>

#include "problem/dtype.h"

namespace ffpa_jit::reference {

// ||out - ref|| / ||ref||, Frobenius. Infinite when a value is NaN or infinite where the other is
// not the same infinity (both at -inf, as in the LSE of a hidden row, count as equal), or when ref
// is 0 and out is not.
double relative_error(std::span<const double> out, std::span<const double> ref);

// max |out - ref| / max(1, |ref|), for LSE; infinite under the same conditions.
double max_error(std::span<const double> out, std::span<const double> ref);

// What a kernel's relative_error may be: 1.2 x that of plain_attention, plus a fraction of the
// dtype's own rounding, and wider where there are too few `rows` of O (B x Hq x Nq) for the two
// errors to be comparable: what is rounded in a row's scores goes into all of its elements.
double error_bar(double plain_error, DType dtype, size_t rows);
// The same for max_error of the LSE.
double lse_error_bar(double plain_error);

}  // namespace ffpa_jit::reference
