// Online softmax of cuda/mma_forward.cu.j2, on scores in registers.
//% set natural = softcap or bias or sinks or modifier
//% set scaled_with_bias = bias and not (softcap or modifier)

// Running softmax of the lane's rows. `origin` is the score that weights are relative to: not always the maximum (see
// online_softmax). `sum` is the lane's own share.
struct RowState {
  float origin[kMTiles][2];
  float sum[kMTiles][2];
};

FFPA_DEVICE RowState no_keys_yet({{ "const ForwardParams& params, const Tile& tile" if sinks }}) {
  RowState state;
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      state.origin[i][h] = -kInfinity;
      state.sum[i][h] = 0.0f;
//% if sinks
      // A row begins with its virtual key, whose value is 0: in one lane's share, in one block's part.
//% if packed
      if (tile.part != 0) continue;
//% endif
      state.origin[i][h] = params.sinks[place_of(tile, tile.row_begin + row_of(i, h)).head];
      if (warp_n() == 0 && lane() % 4 == 0 && state.origin[i][h] != -kInfinity) state.sum[i][h] = 1.0f;
//% endif
    }
  }
  return state;
}

// Where kStateInShared, the state lies in shared memory between the tiles' softmaxes, and sums in them too; else nothing
// happens.
FFPA_DEVICE unsigned state_address(unsigned smem) { return smem + kStateBegin + thread() * 4; }
FFPA_DEVICE constexpr int origin_offset(int i, int h) { return (4 * i + h) * kThreads * 4; }
FFPA_DEVICE constexpr int sum_offset(int i, int h) { return (4 * i + 2 + h) * kThreads * 4; }
FFPA_DEVICE void put_away(const RowState& state, unsigned smem) {
  if constexpr (kStateInShared) {
    const unsigned kept = state_address(smem);
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        st_shared_f32(kept + origin_offset(i, h), state.origin[i][h]);
        st_shared_f32(kept + sum_offset(i, h), state.sum[i][h]);
      }
    }
  }
}
FFPA_DEVICE void take_up(RowState& state, unsigned smem) {
  if constexpr (kStateInShared) {
    const unsigned kept = state_address(smem);
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        state.origin[i][h] = ld_shared_f32(kept + origin_offset(i, h));
        state.sum[i][h] = ld_shared_f32(kept + sum_offset(i, h));
      }
    }
  }
}
// A row's sum times `factor`, plus `addend`.
FFPA_DEVICE void change_sum(RowState& state, unsigned kept, int i, int h, float factor, float addend) {
  if constexpr (kStateInShared) {
    st_shared_f32(kept + sum_offset(i, h), fma_rn(ld_shared_f32(kept + sum_offset(i, h)), factor, addend));
  } else {
    state.sum[i][h] = fma_rn(state.sum[i][h], factor, addend);
  }
}

// What turns a difference of scores into a power of two.
FFPA_DEVICE float exponent_scale(const ForwardParams& params) {
//% if natural
  return kLog2e;  // scale_scores() has applied the scale
//% else
  const float scale = (params.softmax_scale < 0.0f ? -params.softmax_scale : params.softmax_scale) * kLog2e;
  return scale < 1e-36f ? 1e-36f : scale;  // -infinity * 0 would be NaN; of a finite score, nothing is left
//% endif
}

//% if softcap
// tanh x = 1 - 2 / (1 + e^2x), which cancels where x is small: there by its series, whose next term is below 2^-28.
FFPA_DEVICE float tanh_of(float x) {
  const float square = x * x;
  float series = fma_rn(square, 62.0f / 2835.0f, -17.0f / 315.0f);
  series = fma_rn(square, series, 2.0f / 15.0f);
  series = fma_rn(square, series, -1.0f / 3.0f);
  series = fma_rn(x * square, series, x);
  const float quotient = fma_rn(-2.0f, rcp_approx(1.0f + ex2_approx(x * (2.0f * kLog2e))), 1.0f);
  return square < 0.0625f ? series : quotient;
}

//% endif
// Before masks. Where nothing else touches the scores, the scale is left to the exponent, up to its sign.
FFPA_DEVICE void scale_scores(ScoreTile& scores, const ForwardParams& params) {
//% if scaled_with_bias
  return;  // mask_scores() does it
//% elif not natural
  if (params.softmax_scale >= 0.0f) return;
//% endif
//% if softcap
  const float inverse_softcap = 1.0f / params.softcap;
//% endif
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
    for (int j = 0; j < kSTiles; ++j) {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        float& score = scores.value[i][j][r];
//% if natural
        score *= params.softmax_scale;
//% else
        score = -score;
//% endif
//% if softcap
        score = params.softcap * tanh_of(score * inverse_softcap);
//% endif
      }
    }
  }
}

//% if modifier
FFPA_DEVICE void modify_scores(ScoreTile& scores, const ForwardParams& params, const Tile& tile, int kv) {
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const RowPlace place = place_of(tile, tile.row_begin + row_of(i, h));
#pragma unroll
      for (int j = 0; j < kSTiles; ++j) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = scores.value[i][j][2 * h + e];
          score = modifier::modified(params, score, tile.batch, place.head, place.q, kv + first_key() + key_step(j, e),
                                     tile.seqlen_q, tile.seqlen_k);
        }
      }
    }
  }
}

//% endif
// The highest score of each of the lane's rows in this tile: over the lanes of a row, then over the row's warps.
FFPA_DEVICE void row_maxima(float (&highest)[kMTiles][2], const ScoreTile& scores, unsigned smem) {
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float value = scores.value[i][0][2 * h];
#pragma unroll
      for (int j = 0; j < kSTiles; ++j) {
        value = max_f32(value, max_f32(scores.value[i][j][2 * h], scores.value[i][j][2 * h + 1]));
      }
      value = max_f32(value, shfl_bfly(value, 1));
      highest[i][h] = max_f32(value, shfl_bfly(value, 2));
    }
  }
  if constexpr (kWarpsN > 1) {
    const unsigned own = stats_address(smem, warp_m() * kRows + thread() % 32 / 4, 0);
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        if (lane() % 4 == 0) st_shared_f32(own + (i * 16 + h * 8) * kStatsPitch + thread() / 32 / kWarpsM * 4, highest[i][h]);
      }
    }
    bar_sync(1 + warp_m(), 32 * kWarpsN);
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int w = 0; w < kWarpsN; ++w) {
          highest[i][h] = max_f32(highest[i][h], ld_shared_f32(own + (i * 16 + h * 8) * kStatsPitch + w * 4));
        }
      }
    }
  }
}

// Weights relative to each row's origin, to 16 bits. An origin follows the maximum only when that has risen by more
// than a factor of 2^8 (Blackwell's FlashAttention-4 does so): O is seldom rescaled, and nothing overflows. A row that
// has seen no key yet keeps origin -infinity and weights 0.
FFPA_DEVICE void online_softmax(ProbTile& probs, ScoreTile& scores, RowState& state, OutTile& out, unsigned smem,
                                const ForwardParams& params) {
  constexpr float kMaxRise = 8.0f;
  const float scale = exponent_scale(params);
  float highest[kMTiles][2];
  row_maxima(highest, scores, smem);
  [[maybe_unused]] const unsigned kept = kStateInShared ? state_address(smem) : 0;
  bool risen = false;
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (kStateInShared) state.origin[i][h] = ld_shared_f32(kept + origin_offset(i, h));
    }
  }
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) risen = risen || (highest[i][h] - state.origin[i][h]) * scale > kMaxRise;
  }
  if (vote_any(risen)) {
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float origin = max_f32(highest[i][h], state.origin[i][h]);
        const float rescale = origin == -kInfinity ? 1.0f : ex2_approx((state.origin[i][h] - origin) * scale);
        state.origin[i][h] = origin;
        if (kStateInShared) st_shared_f32(kept + origin_offset(i, h), origin);
        change_sum(state, kept, i, h, rescale, 0.0f);
#pragma unroll
        for (int j = 0; j < kOTiles; ++j) {
          out.value[i][j][2 * h] *= rescale;
          out.value[i][j][2 * h + 1] *= rescale;
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float origin = state.origin[i][h] == -kInfinity ? 0.0f : state.origin[i][h];
      float sum = 0.0f;
//% if not natural
      const float offset = -origin * scale;
//% endif
#pragma unroll
      for (int j = 0; j < kSTiles; ++j) {
        float weight[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
//% if natural
          // A difference first: a bias of the lowest finite float times log2 e would overflow.
          weight[e] = ex2_approx((scores.value[i][j][2 * h + e] - origin) * scale);
//% else
          weight[e] = ex2_approx(fma_rn(scores.value[i][j][2 * h + e], scale, offset));
//% endif
          sum += weight[e];
        }
        probs.value[i][j / 2][j % 2 * 2 + h] = pack(weight[0], weight[1]);
      }
      change_sum(state, kept, i, h, 1.0f, sum);
    }
  }
}
