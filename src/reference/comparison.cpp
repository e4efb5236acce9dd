#include "reference/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ffpa_jit::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool same_or_finite(double out, double ref) {
  return std::isfinite(out) && std::isfinite(ref) ? true : out == ref;
}

}  // namespace

double relative_error(std::span<const double> out, std::span<const double> ref) {
  if (out.size() != ref.size()) return kInfinity;
  double difference = 0, norm = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!same_or_finite(out[i], ref[i])) return kInfinity;
    if (!std::isfinite(ref[i])) continue;
    difference += (out[i] - ref[i]) * (out[i] - ref[i]);
    norm += ref[i] * ref[i];
  }
  if (difference == 0) return 0;
  return norm == 0 ? kInfinity : std::sqrt(difference / norm);
}

double max_error(std::span<const double> out, std::span<const double> ref) {
  if (out.size() != ref.size()) return kInfinity;
  double worst = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!same_or_finite(out[i], ref[i])) return kInfinity;
    if (!std::isfinite(ref[i])) continue;
    worst = std::max(worst, std::abs(out[i] - ref[i]) / std::max(1.0, std::abs(ref[i])));
  }
  return worst;
}

double error_bar(double plain_error, DType dtype, size_t rows) {
  // What two right kernels may differ by: a part of the output's own rounding; in fp32 also the
  // order of long sums, which the rounding of O does not cover.
  const double slack = dtype == DType::kBf16 ? 0x1p-12 : dtype == DType::kFp16 ? 0x1p-15 : 0x1p-22;
  const double few = 1.0 / std::sqrt(static_cast<double>(std::max<size_t>(rows, 1)));
  const double few_slack = dtype == DType::kFp32 ? 8 * slack : 32 * slack;
  return 1.2 * plain_error * (1 + 4 * few) + slack + few_slack * few;
}

double lse_error_bar(double plain_error) { return 1.2 * plain_error + 0x1p-18; }

}  // namespace ffpa_jit::reference
