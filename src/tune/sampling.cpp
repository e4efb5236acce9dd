#include "tune/sampling.h"

#include <algorithm>
#include <cmath>

namespace ffpa_jit {
namespace {

constexpr double kToDeviation =
    1.4826;                       // of a normal distribution, from its median absolute deviation
constexpr double kBeyond = 1e-3;  // the chance that a bound is passed

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// The greatest k for which fewer than k of n fair coins show heads with a chance below kBeyond: the
// k-th smallest value bounds the median from below. 0: there is none.
int bound_rank(int n) {
  double term = std::pow(0.5, n), sum = 0;
  for (int k = 0; k < n; ++k) {
    sum += term;
    if (sum >= kBeyond) return k;
    term *= static_cast<double>(n - k) / (k + 1);
  }
  return n;
}

}  // namespace

Summary summary_of(std::span<const double> samples) {
  Summary out;
  out.samples = static_cast<int>(samples.size());
  out.median = median_of({samples.begin(), samples.end()});
  std::vector<double> deviations;
  for (const double sample : samples) deviations.push_back(std::abs(sample - out.median));
  out.spread = kToDeviation * median_of(std::move(deviations));
  return out;
}

Comparison compare(std::span<const double> a, std::span<const double> b) {
  const size_t rounds = std::min(a.size(), b.size());
  std::vector<double> ratios;
  for (size_t i = 0; i < rounds; ++i) ratios.push_back(b[i] / a[i]);
  std::sort(ratios.begin(), ratios.end());
  Comparison out;
  out.rounds = static_cast<int>(rounds);
  if (rounds == 0) return out;
  out.ratio = median_of(ratios);
  if (const int rank = bound_rank(out.rounds)) {
    out.low = ratios[static_cast<size_t>(rank - 1)];
    out.high = ratios[rounds - static_cast<size_t>(rank)];
  }
  return out;
}

}  // namespace ffpa_jit
