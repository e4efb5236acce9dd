#include "tune/sampling.h"

#include <algorithm>
#include <cmath>

namespace ffpa_jit {
namespace {

constexpr double kToDeviation =
    1.4826;  // of a normal distribution, from its median absolute deviation
constexpr double kErrorOfMedian = 1.2533;  // sqrt(pi / 2): the median's error over the mean's

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
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
  const Summary summary = summary_of(ratios);
  Comparison out;
  out.rounds = summary.samples;
  if (rounds == 0) return out;
  out.ratio = summary.median;
  out.error = kErrorOfMedian * summary.spread / std::sqrt(static_cast<double>(rounds));
  return out;
}

}  // namespace ffpa_jit
