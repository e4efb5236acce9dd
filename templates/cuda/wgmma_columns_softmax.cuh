// Online softmax of cuda/wgmma_columns.cu.j2, in pieces that run while products do.

// Running softmax of the lane's two rows, the same in both warpgroups but for `sum`, the lane's own share. `origin` is the
// score that weights are relative to: not always the maximum.
struct RowState {
  float origin[2];
  float sum[2];
  float highest[2];  // of this tile, among this warpgroup's keys
  float factor[2];   // that O is still to be multiplied by
};

FFPA_DEVICE RowState no_keys_yet() { return { {-kInfinity, -kInfinity}, {0.0f, 0.0f}, {0.0f, 0.0f}, {1.0f, 1.0f}}; }

// Weights to 16 bits, of half of the lane's scores.
struct ProbPart {
  unsigned value[kSTiles];
};

// What turns a difference of scores into a power of two.
FFPA_DEVICE float exponent_scale(const ForwardParams& params) {
//% if natural
  return kLog2e;  // modify_scores() has applied the scale
//% else
  const float scale = (params.softmax_scale < 0.0f ? -params.softmax_scale : params.softmax_scale) * kLog2e;
  return scale < 1e-36f ? 1e-36f : scale;  // -infinity * 0 would be NaN; of a finite score, nothing is left
//% endif
}

// The highest score of each of the lane's rows among this warpgroup's keys, and to where the other one finds it.
FFPA_DEVICE void row_maxima(RowState& state, ScoreTile& scores, unsigned smem, unsigned buffer, const ForwardParams& params) {
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
    if (lane() % 4 == 0) st_shared_f32(stats_address(smem, buffer, consumer(), row_of(h)), state.highest[h]);
  }
}

// The other warpgroup's warp with the same rows.
FFPA_DEVICE void meet_twin(int thread = this_thread()) { bar_sync(1 + warp(thread), 64); }

// An origin follows the maximum only when that has risen by more than a factor of 2^8 (Blackwell's FlashAttention-4 does
// so): O is seldom rescaled, and nothing overflows. A row that has seen no key yet keeps origin -infinity and weights 0.
FFPA_DEVICE void exchange_maxima(RowState& state, unsigned smem, unsigned buffer, const ForwardParams& params) {
  constexpr float kMaxRise = 8.0f;
  const float scale = exponent_scale(params);
  const int thread = thread_of_tile();
  meet_twin(thread);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float highest =
        max_f32(state.highest[h], ld_shared_f32(stats_address(smem, buffer, consumer(thread) ^ 1, row_of(h, thread))));
    state.factor[h] = 1.0f;
    if ((highest - state.origin[h]) * scale > kMaxRise) {
      state.factor[h] = ex2_approx((state.origin[h] - highest) * scale);
      state.origin[h] = highest;
      state.sum[h] *= state.factor[h];
//% if lse
      if (lane() % 4 == 0) {
        const unsigned sum = exact_sum_address(smem, consumer(), row_of(h));
        st_shared_f32(sum, ld_shared_f32(sum) * state.factor[h]);
      }
//% endif
    }
  }
  }

// Weights of a quarter of the lane's scores, rounded to 16 bits. Sums are of what has been rounded, so that a row whose
// weight is nearly all on one key comes out as exactly as if that weight were 1; LSE has sums of its own, in shared memory, of what has not.
FFPA_DEVICE void weights(ProbPart& probs, RowState& state, const ScoreTile& scores, {{ "const KeptMarks& kept, " if dropout }}int quarter,
                         [[maybe_unused]] unsigned smem, const ForwardParams& params) {
  const float scale = exponent_scale(params);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float origin = state.origin[h] == -kInfinity ? 0.0f : state.origin[h];
//% if not natural
    const float offset = -origin * scale;
//% endif
    float sum = 0.0f;
//% if dropout
    const KeptTiles kept_tiles = kept.of(h, quarter);
//% endif
//% if lse
    float exact_sum = 0.0f;
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
      exact_sum += weight[0] + weight[1];
//% endif
      unsigned pair = pack(weight[0], weight[1]);
      sum += to_float((Element)pair) + to_float((Element)(pair >> 16));
//% if dropout
      pair = drop(pair, kept_tiles, i);
//% endif
      probs.value[(quarter % 2 * (kSTiles / 4) + i) * 2 + h] = pair;
    }
    state.sum[h] += sum;
//% if lse
    exact_sum += shfl_bfly(exact_sum, 1);
    exact_sum += shfl_bfly(exact_sum, 2);
    if (lane() % 4 == 0) {
      const unsigned sum = exact_sum_address(smem, consumer(), row_of(h));
      st_shared_f32(sum, ld_shared_f32(sum) + exact_sum);
    }
//% endif
  }
}

// Half of the warpgroup's weights to its part of P: 64 keys, one block.
FFPA_DEVICE void place(const ProbPart& probs, unsigned smem, int half) {
  const int thread = thread_of_tile();
  const unsigned row = smem + kProbsBegin + (consumer(thread) * 2 + half) * kBlockBytes + (warp(thread) * 16 + lane(thread) % 16) * 128;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const unsigned four[4] = {probs.value[4 * i], probs.value[4 * i + 1], probs.value[4 * i + 2], probs.value[4 * i + 3]};
    stmatrix_x4(row + ((unsigned)(2 * i + lane(thread) / 16) ^ (unsigned)lane(thread) % 8) * 16, four);
  }
}

// O to the origin of the weights that come next.
FFPA_DEVICE void rescale(OutTile& out, const RowState& state) {
  if (!vote_any(state.factor[0] != 1.0f || state.factor[1] != 1.0f)) return;
#pragma unroll
  for (int i = 0; i < 4 * kOTiles; ++i) out.value[i] *= state.factor[i / 2 % 2];
}
