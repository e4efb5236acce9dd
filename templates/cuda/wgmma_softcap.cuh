// Softcap of the `wgmma` family: cap tanh(score / cap), of which the cap is left to whoever multiplies next. The including template has
// included cuda/lib/arithmetic.cuh, reciprocal.cuh and vote.cuh.
//
// Special functions are few, and each score's weight needs one: tanh is a polynomial for a warp whose scores are all near 0, as they
// are where a cap is to stop outliers.

// Of |x| up to kTanhReach, x times a polynomial of x^2; relative error 2^-19 (Remez). Of -infinity it is -infinity.
constexpr float kTanhReach = 0.3125f;
constexpr float kTanh1 = 0.99999851f, kTanh3 = -0.333060086f, kTanh5 = 0.125770375f;
FFPA_DEVICE float tanh_near(float x) {
  const float square = x * x;
  return x * fma_rn(square, fma_rn(square, kTanh5, kTanh3), kTanh1);
}

// 1 - 2 / (1 + e^2x), of absolute error 2^-22: beside scores that are not near, the rounding of the highest.
FFPA_DEVICE float tanh_far(float x) { return fma_rn(-2.0f, rcp_approx(1.0f + ex2_approx(x * (2.0f * kLog2e))), 1.0f); }

// From a product of Q and K to the argument of tanh.
FFPA_DEVICE float cap_factor(const ForwardParams& params) { return params.softmax_scale * (1.0f / params.softcap); }

FFPA_DEVICE float capped(float score, float factor) {
  const float x = score * factor;
  return abs_f32(x) <= kTanhReach ? tanh_near(x) : tanh_far(x);
}

// Whether so many scores from `first` on are near, of all lanes of a warp.
template <int kCount, int kScores>
FFPA_DEVICE bool are_near(const float (&score)[kScores], int first, float factor) {
  float largest[2] = {0.0f, 0.0f};
#pragma unroll
  for (int i = 0; i < kCount; ++i) largest[i % 2] = max_f32(largest[i % 2], abs_f32(score[first + i]));
  return !vote_any(!(max_f32(largest[0], largest[1]) * factor <= kTanhReach && factor > 0.0f));
}

template <int kCount, int kScores>
FFPA_DEVICE void cap_scores(float (&score)[kScores], int first, float factor) {
  if (are_near<kCount>(score, first, factor)) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) score[first + i] = tanh_near(score[first + i] * factor);
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) score[first + i] = tanh_far(score[first + i] * factor);
  }
}
