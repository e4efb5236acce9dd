// What a set of times says: their middle, their spread, and whether one kernel is faster than
// another beyond noise. Used by the tuner's decisions and by the benchmark's rows.
#pragma once

#include <limits>
#include <span>
#include <vector>

namespace ffpa_jit {

struct Summary {
  double median = 0;
  double spread =
      0;  // median absolute deviation, scaled to a normal distribution's standard deviation
  int samples = 0;
};
Summary summary_of(std::span<const double> samples);

// How much faster `a` is than `b`, from samples taken in turn: round i of both saw the same clocks
// and the same neighbours, so the ratios are compared, not the times. The bounds hold whatever the
// noise's distribution: they are order statistics of the ratios (the sign test), each passed by the
// true median with a chance below one in a thousand.
struct Comparison {
  double ratio = 1;  // median of b[i] / a[i]: 1.05 = a is 5 % faster
  double low = 0;    // of that median
  double high = std::numeric_limits<double>::infinity();
  int rounds = 0;

  // a is faster, by more than `least_gain`, beyond noise.
  bool faster_by(double least_gain) const { return low > 1 + least_gain; }
  // a is slower, beyond noise.
  bool slower() const { return high < 1; }

  static constexpr int kLeastRounds = 10;  // fewer have no bounds
};
// Both began in the same round; one may have been left behind earlier.
Comparison compare(std::span<const double> a, std::span<const double> b);

}  // namespace ffpa_jit
