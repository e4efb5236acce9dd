// Online softmax of cuda/wgmma_halves.cu.j2, in pieces that run while products do.

// Running softmax of the lane's two rows, the same in all four warpgroups but for the sums, the lane's own share. `origin` is
// the score that weights are relative to: not always the maximum.
struct RowState {
  float origin[2];
  float sum[2];
//% if lse
  float exact_sum[2];
//% endif
  float highest[2];  // of this tile, among this warpgroup's keys
  float factor[2];   // that O is still to be multiplied by
};

FFPA_DEVICE RowState no_keys_yet() {
  RowState state = {};
  state.origin[0] = state.origin[1] = -kInfinity;
  state.factor[0] = state.factor[1] = 1.0f;
  return state;
}

// What turns a difference of scores into a power of two.
FFPA_DEVICE float exponent_scale(const ForwardParams& params) {
//% if natural
  return kLog2e;  // modify_scores() has applied the scale
//% else
  const float scale = (params.softmax_scale < 0.0f ? -params.softmax_scale : params.softmax_scale) * kLog2e;
  return scale < 1e-36f ? 1e-36f : scale;  // -infinity * 0 would be NaN; of a finite score, nothing is left
//% endif
}

// The highest score of each of the lane's rows among this warpgroup's keys, and to where the others find it.
FFPA_DEVICE void row_maxima(RowState& state, ScoreTile& scores, const Exchange& exchange, [[maybe_unused]] const ForwardParams& params) {
//% if not natural
  if (params.softmax_scale < 0.0f) {
#pragma unroll
    for (int i = 0; i < 4 * kSTiles; ++i) scores.value[i] = scores.value[i] == -kInfinity ? -kInfinity : -scores.value[i];
  }
//% endif
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float value = scores.value[2 * h];
#pragma unroll
    for (int j = 0; j < kSTiles; ++j) {
      value = max_f32(value, max_f32(scores.value[4 * j + 2 * h], scores.value[4 * j + 2 * h + 1]));
    }
    value = max_f32(value, shfl_bfly(value, 1));
    state.highest[h] = max_f32(value, shfl_bfly(value, 2));
  }
  exchange.share_rows(state.highest, exchange.tile);
}

// An origin follows the maximum only when that has risen by more than a factor of 2^8 (Blackwell's FlashAttention-4 does
// so): O is seldom rescaled, and nothing overflows. A row that has seen no key yet keeps origin -infinity and weights 0.
FFPA_DEVICE void follow_maxima(RowState& state, Exchange& exchange, const ForwardParams& params) {
  constexpr float kMaxRise = 8.0f;
  const float scale = exponent_scale(params);
  exchange.wait_rows(exchange.tile);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float highest = state.highest[h];
#pragma unroll
    for (int i = 1; i < 4; ++i) highest = max_f32(highest, exchange.shared_row(exchange.tile, i, h));
    state.factor[h] = 1.0f;
    if ((highest - state.origin[h]) * scale > kMaxRise) {
      state.factor[h] = ex2_approx((state.origin[h] - highest) * scale);
      state.origin[h] = highest;
      state.sum[h] *= state.factor[h];
//% if lse
      state.exact_sum[h] *= state.factor[h];
//% endif
    }
  }
  ++exchange.tile;
}

// Weights of a quarter of the lane's scores, rounded to 16 bits. Sums are of what has been rounded, so that a row whose
// weight is nearly all on one key comes out as exactly as if that weight were 1; LSE has sums of its own, of what has not.
FFPA_DEVICE void weights(Probs& probs, RowState& state, const ScoreTile& scores, [[maybe_unused]] const Marks& marks, int quarter,
                         const Exchange& exchange, const ForwardParams& params) {
  const float scale = exponent_scale(params);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float origin = state.origin[h] == -kInfinity ? 0.0f : state.origin[h];
//% if not natural
    const float offset = -origin * scale;
//% endif
#pragma unroll
    for (int i = 0; i < kSTiles / 4; ++i) {
      const int j = quarter * (kSTiles / 4) + i;
      float weight[2];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
//% if natural
        // A difference first: a bias of the lowest finite float times log2 e would overflow.
        weight[e] = ex2_approx((scores.value[4 * j + 2 * h + e] - origin) * scale);
//% else
        weight[e] = ex2_approx(fma_rn(scores.value[4 * j + 2 * h + e], scale, offset));
//% endif
      }
//% if lse
      state.exact_sum[h] += weight[0] + weight[1];
//% endif
      unsigned pair = pack(weight[0], weight[1]);
      state.sum[h] += to_float((Element)pair) + to_float((Element)(pair >> 16));
//% if dropout
      const unsigned low = marks.kept[h] >> (2 * j) & 1, high = marks.kept[h] >> (2 * j + 1) & 1;
      pair &= (0u - low & 0xffffu) | high * 0xffff0000u;
//% endif
      probs.value[2 * j + h] = pair;
    }
  }
  // No sum is negative, which ptxas cannot know: it would put all weights off to the end of P V, where tensor cores wait for them.
  if (state.sum[0] + state.sum[1] < 0.0f) st_shared_f32(exchange.row_address(0, 0, 0), state.sum[0]);
}

// O to the origin of the weights that come next.
FFPA_DEVICE void rescale(OutTile& out, const RowState& state) {
  if (!vote_any(state.factor[0] != 1.0f || state.factor[1] != 1.0f)) return;
#pragma unroll
  for (int i = 0; i < 4 * kOTiles; ++i) out.value[i] *= state.factor[i / 2 % 2];
}

// Of one number of each of the lane's rows: over its lanes and the four warpgroups, in the same order everywhere.
FFPA_DEVICE void add_up(float (&sum)[2], const Exchange& exchange, unsigned turn, int thread) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    sum[h] += shfl_bfly(sum[h], 1);
    sum[h] += shfl_bfly(sum[h], 2);
  }
  exchange.share_rows(sum, turn, thread);
  exchange.wait_rows(turn, thread);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float twin = exchange.shared_row(turn, 1, h, thread), third = exchange.shared_row(turn, 2, h, thread);
    sum[h] = (sum[h] + twin) + (third + exchange.shared_row(turn, 3, h, thread));
  }
}

// Of the lane's rows, over all keys: of the weights as rounded, which O is divided by, and for LSE of the weights themselves.
FFPA_DEVICE void total_sums(float (&sum)[2], float (&exact_sum)[2], const RowState& state, unsigned smem, unsigned turn, int thread) {
#pragma unroll
  for (int h = 0; h < 2; ++h) sum[h] = state.sum[h];
  add_up(sum, exchange_of(smem), turn, thread);
#pragma unroll
  for (int h = 0; h < 2; ++h) exact_sum[h] = {{ "state.exact_sum[h]" if lse else "sum[h]" }};
//% if lse
  add_up(exact_sum, exchange_of(smem), turn + 1, thread);
//% endif
}
