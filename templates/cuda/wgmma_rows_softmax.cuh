// Online softmax of cuda/wgmma_rows.cu.j2, on scores in registers.

// Running softmax of the lane's two rows. `origin` is the score that weights are relative to: not always the maximum. `sum` is
// the lane's own share. `factor` turns what was relative to the origin before.
//% if rounded_sums
// `sum` is of weights as P has them: where one weight is nearly all of a row, its rounding then cancels in O. `exact` is of the
// weights themselves, for the LSE.
//% endif
struct RowState {
  float origin[2];
  float sum[2];
  float factor[2];
//% if rounded_sums
  float exact[2];
//% endif
};

FFPA_DEVICE RowState no_keys_yet() {
  RowState state;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    state.origin[h] = -kInfinity;
    state.sum[h] = 0.0f;
    state.factor[h] = 1.0f;
//% if rounded_sums
    state.exact[h] = 0.0f;
//% endif
  }
  return state;
}

// Scores become weights relative to each row's origin. An origin follows the maximum only when that has risen by more
// than a factor of 2^kMaxRise (Blackwell's FlashAttention-4 does so): O is seldom rescaled, and nothing overflows. A row that
// has seen no key yet keeps origin -infinity and weights 0.
FFPA_DEVICE void online_softmax(ScoreTile& scores, RowState& state, const ForwardParams& params) {
  constexpr float kMaxRise = {{ max_rise }};
  const float scale = exponent_scale(params);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    // Two chains, for the latency.
    float highest[2] = {max_f32(scores.value[2 * h], scores.value[2 * h + 1]), max_f32(scores.value[4 + 2 * h], scores.value[4 + 2 * h + 1])};
#pragma unroll
    for (int i = 2; i < kSTiles; ++i) {
      highest[i % 2] = max_f32(highest[i % 2], max_f32(scores.value[4 * i + 2 * h], scores.value[4 * i + 2 * h + 1]));
    }
    float top = max_f32(highest[0], highest[1]);
    top = max_f32(top, shfl_bfly(top, 1));
    top = max_f32(top, shfl_bfly(top, 2));
    const bool risen = (top - state.origin[h]) * scale > kMaxRise;
    const float origin = risen ? top : state.origin[h];
    state.factor[h] = risen ? ex2_approx((state.origin[h] - top) * scale) : 1.0f;
    state.origin[h] = origin;
    const float start = origin == -kInfinity ? 0.0f : origin;
//% if not natural
    const float offset = -start * scale;
//% endif
    float sum[2] = {0.0f, 0.0f};
//% if rounded_sums
    float exact[2] = {0.0f, 0.0f};
//% endif
#pragma unroll
    for (int i = 0; i < kSTiles; ++i) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores.value[4 * i + 2 * h + e];
//% if natural
        // A difference first: a bias of the lowest finite float times log2 e would overflow.
        score = ex2_approx((score - start) * scale);
//% else
        score = ex2_approx(fma_rn(score, scale, offset));
//% endif
//% if not rounded_sums
        sum[e] += score;
//% elif lse
        exact[e] += score;
//% endif
      }
//% if rounded_sums
      const unsigned pair = pack(scores.value[4 * i + 2 * h], scores.value[4 * i + 2 * h + 1]);
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        scores.value[4 * i + 2 * h + e] = unpack(pair, e);
        sum[e] += scores.value[4 * i + 2 * h + e];
      }
//% endif
    }
    state.sum[h] = fma_rn(state.sum[h], state.factor[h], sum[0] + sum[1]);
//% if rounded_sums and lse
    state.exact[h] = fma_rn(state.exact[h], state.factor[h], exact[0] + exact[1]);
//% endif
  }
}

// Weights to 16 bits. Dropped ones become 0; what is kept is scaled in store().
FFPA_DEVICE void place(ProbTile& probs, const ScoreTile& scores{{ ", const Marks& marks" if dropout else "" }}) {
#pragma unroll
  for (int i = 0; i < kBlockN / 4; ++i) {
    unsigned& pair = probs.value[i / 4][i % 4];
    pair = pack(scores.value[2 * i], scores.value[2 * i + 1]);
//% if dropout
    const unsigned kept = marks.kept.kept[i % 2][i / 2 / 16] >> (2 * (i / 2 % 16));
    pair &= (0u - (kept & 1) & 0xffffu) | (kept >> 1 & 1) * 0xffff0000u;
//% endif
  }
}

FFPA_DEVICE void rescale(OutTile& out, const RowState& state) {
  if (!vote_any(state.factor[0] != 1.0f || state.factor[1] != 1.0f)) return;
#pragma unroll
  for (int i = 0; i < kHeadDimV / 2; ++i) out.value[i] *= state.factor[i / 2 % 2];
}
