// Masks and online softmax of cuda/wgmma_rows.cu.j2, on scores in registers.

// Running softmax of the lane's two rows. `origin`, in units of the exponent, is what weights are relative to; `sum` is the lane's
// own share. `factor` turns what was relative to the last origin.
struct RowState {
  float origin[2];
  float sum[2];
  float factor[2];
};

FFPA_DEVICE RowState no_keys_yet() {
  RowState state;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    state.origin[h] = -kInfinity;
    state.sum[h] = 0.0f;
    state.factor[h] = 1.0f;
  }
  return state;
}

// What turns a score into a power of two.
FFPA_DEVICE float exponent_scale(const ForwardParams& params) {
  return params.softmax_scale * kLog2e;
}

// -infinity where a row does not see a key, whatever Q K^T came out as.
FFPA_DEVICE void mask_scores(ScoreTile& scores, const ForwardParams& params, const Tile& tile, int j) {
  const int kv = first_key(tile, j);
  if (kv >= tile.full_begin && kv + kBlockN <= tile.full_end) return;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const KeyRange visible = keys_of_row(params, tile, query_of(tile, row_of(h)));
    const int end = visible.end - kv - column_of(0);
//% if window_left
    const int begin = visible.begin - kv - column_of(0);
//% endif
#pragma unroll
    for (int i = 0; i < kSTiles; ++i) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores.value[4 * i + 2 * h + e];
        const bool shown = 8 * i + e < end{{ " && 8 * i + e >= begin" if window_left else "" }};
        score = shown ? score : -kInfinity;
      }
    }
  }
}

// Scores become weights relative to each row's origin. An origin follows the maximum only when that has risen by more
// than a factor of 2^8 (Blackwell's FlashAttention-4 does so): O is seldom rescaled, and nothing overflows.
FFPA_DEVICE void online_softmax(ScoreTile& scores, RowState& state, const ForwardParams& params) {
  constexpr float kMaxRise = 8.0f;
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
    top = max_f32(top, shfl_bfly(top, 2)) * scale;
    const bool risen = top > state.origin[h] + kMaxRise;
    const float origin = risen ? top : state.origin[h];
    state.factor[h] = risen ? ex2_approx(state.origin[h] - top) : 1.0f;
    state.origin[h] = origin;
    state.sum[h] *= state.factor[h];
    const float offset = origin == -kInfinity ? 0.0f : -origin;
    float sum[2] = {0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < kSTiles; ++i) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores.value[4 * i + 2 * h + e];
        score = ex2_approx(fma_rn(score, scale, offset));
        sum[e] += score;
      }
    }
    state.sum[h] += sum[0] + sum[1];
  }
}

FFPA_DEVICE void place(ProbTile& probs, const ScoreTile& scores) {
#pragma unroll
  for (int i = 0; i < kBlockN / 4; ++i) probs.value[i / 4][i % 4] = pack(scores.value[2 * i], scores.value[2 * i + 1]);
}

FFPA_DEVICE void rescale(OutTile& out, const RowState& state) {
  if (!vote_any(state.factor[0] != 1.0f || state.factor[1] != 1.0f)) return;
#pragma unroll
  for (int i = 0; i < kHeadDimV / 2; ++i) out.value[i] *= state.factor[i / 2 % 2];
}
