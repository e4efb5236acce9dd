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
  // Unit roundoff of the output's dtype; fp32 is given more because the order of a long fp32 sum,
  // not the rounding of O, is what differs there.
  const double roundoff = dtype == DType::kBf16   ? 0x1p-8
                          : dtype == DType::kFp16 ? 0x1p-11
                                                  : 0x1p-20;
  const double few = 1.0 / std::sqrt(static_cast<double>(std::max<size_t>(rows, 1)));
  return 1.2 * plain_error * (1 + 4 * few) + roundoff * (0.25 + 2 * few);
}

double lse_error_bar(double plain_error) { return 1.2 * plain_error + 0x1p-18; }

}  // namespace ffpa_jit::reference
