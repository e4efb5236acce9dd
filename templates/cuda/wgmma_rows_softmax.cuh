// Online softmax of cuda/wgmma_rows.cu.j2, on scores in registers.

// Running softmax of the lane's two rows. `origin` is the score that weights are relative to: not always the maximum. `sum` is
// the lane's own share. `factor` turns what was relative to the origin before.
// `highest` is the highest score so far. When all keys have been seen, round_highest() makes `exact` the sum for the LSE, and `sum` that for O.
struct RowState {
  float origin[2];
  float sum[2];
  float factor[2];
  float highest[2];
//% if lse
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
    state.highest[h] = -kInfinity;
//% if lse
    state.exact[h] = 0.0f;
//% endif
  }
  return state;
}

// Scores become weights relative to each row's origin. An origin follows the maximum only when that has risen by more
// than a factor of 2^kMaxRise (Blackwell's FlashAttention-4 does so): O is seldom rescaled, and nothing overflows. A row that
// has seen no key yet keeps origin -infinity and weights 0.
FFPA_DEVICE void online_softmax(ScoreTile& scores, RowState& state, const ForwardParams& params{{ ", bool near" if capped }}) {
  constexpr float kMaxRise = {{ max_rise }};
  const float scale = exponent_scale(params);
//% if capped
  // The exponent of a near score, which is a polynomial of it.
  const float factor = cap_factor(params);
  const float order1 = kTanh1 * (factor * scale), order3 = kTanh3 * (factor * scale) * (factor * factor);
  const float order5 = kTanh5 * (factor * scale) * (factor * factor) * (factor * factor);
//% endif
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
//% if capped
    if (near) top = tanh_near(top * factor);
//% endif
    const bool risen = (top - state.origin[h]) * scale > kMaxRise;
    const float origin = risen ? top : state.origin[h];
    state.factor[h] = risen ? ex2_approx((state.origin[h] - top) * scale) : 1.0f;
    state.origin[h] = origin;
    state.highest[h] = max_f32(state.highest[h], top);
    const float start = origin == -kInfinity ? 0.0f : origin;
//% if bias
    // A bias of the lowest finite float times log2 e would overflow. In a row that has nothing else, only how scores differ counts,
    // and they differ by nothing or very much.
    const float times = start < -1e38f ? 0x1p-64f : kLog2e;
    const float offset = -start * times;
//% elif not natural
    const float offset = -start * scale;
//% endif
    float sum[2] = {0.0f, 0.0f};
//% if capped
    if (near) {
#pragma unroll
      for (int i = 0; i < 2 * kSTiles; ++i) {
        float& score = scores.value[4 * (i / 2) + 2 * h + i % 2];
        const float square = score * score;
        score = ex2_approx(fma_rn(score, fma_rn(square, fma_rn(square, order5, order3), order1), offset));
        sum[i % 2] += score;
      }
    } else {
//% endif
#pragma unroll
    for (int i = 0; i < kSTiles; ++i) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores.value[4 * i + 2 * h + e];
//% if bias
        score = ex2_approx(fma_rn(score, times, offset));
//% elif natural
        score = ex2_approx((score - start) * scale);
//% else
        score = ex2_approx(fma_rn(score, scale, offset));
//% endif
        sum[e] += score;
      }
    }
{{ "    }" if capped }}
    state.sum[h] = fma_rn(state.sum[h], state.factor[h], sum[0] + sum[1]);
  }
}

// P holds weights rounded. Where one is nearly all of its row, that shows in O unless the sum has it too: the sum for O takes the
// highest weight's rounding. That of the lower ones, each some other way, matters little.
FFPA_DEVICE void round_highest(RowState& state, const ForwardParams& params) {
  const float scale = exponent_scale(params);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
//% if lse
    state.exact[h] = state.sum[h];
//% endif
    if (state.origin[h] == -kInfinity || lane() % 4 != 0) continue;  // one lane's share of the sum has it
//% if natural
    const float weight = ex2_approx((state.highest[h] - state.origin[h]) * scale);
//% else
    const float weight = ex2_approx(fma_rn(state.highest[h], scale, -state.origin[h] * scale));
//% endif
    state.sum[h] += to_float((Element)pack(weight, 0.0f)) - weight;
  }
}

// Weights to 16 bits. Dropped ones become 0; what is kept is scaled in store().
FFPA_DEVICE void place(ProbTile& probs, const ScoreTile& scores{{ ", const KeptMarks& marks" if dropout else "" }}) {
#pragma unroll
  for (int i = 0; i < kBlockN / 4; ++i) {
    unsigned& pair = probs.value[i / 4][i % 4];
    pair = pack(scores.value[2 * i], scores.value[2 * i + 1]);
//% if dropout
    pair = drop(pair, kept_tiles(marks.kept[i % 2][i / 8]), i / 2 % 4);
//% endif
  }
}

FFPA_DEVICE void rescale(OutTile& out, const RowState& state) {
  if (!vote_any(state.factor[0] != 1.0f || state.factor[1] != 1.0f)) return;
#pragma unroll
  for (int i = 0; i < kHeadDimV / 2; ++i) out.value[i] *= state.factor[i / 2 % 2];
}
