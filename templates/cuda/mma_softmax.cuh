// Masks, online softmax and dropout of cuda/mma_forward.cu.j2, on scores in registers.
//% set natural = softcap or bias

// Running softmax of the lane's rows. `origin` is the score that weights are relative to: not always the maximum (see
// online_softmax). `sum` is the lane's own share.
struct RowState {
  float origin[kMTiles][2];
  float sum[kMTiles][2];
};

FFPA_DEVICE RowState no_keys_yet() {
  RowState state;
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      state.origin[i][h] = -kInfinity;
      state.sum[i][h] = 0.0f;
    }
  }
  return state;
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
//% if not natural
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

// Whether some row of the tile does not see some key of [kv, kv + kBlockN).
FFPA_DEVICE bool is_partial(const ForwardParams& params, const Tile& tile, int kv) {
//% if mask or bias
  return true;
//% else
  const int end = tile.full_end < tile.kv_end ? tile.full_end : tile.kv_end;
  return kv < tile.full_begin || kv + kBlockN > end;
//% endif
}

//% if mask or bias
// What a boolean mask holds for the lane's scores, two bytes a pair, loaded before Q K^T so that nothing waits for it
// after; where registers are left for that.
//% set alone = not (window_left or window_right or bias or dropout or softcap or varlen)
constexpr bool kMaskAhead = {{ "true" if alone else "false" }} && kWarpsN > 1 && kMTiles * kSTiles <= 8 &&
                            kMTiles * (kOTiles + kSTiles) <= 40;
struct MaskAhead {
  unsigned short pair[kMTiles][2][kSTiles];
};

// What a mask holds for the lane's scores of one row.
template <typename Value>
struct MaskRow {
  Value value[kSTiles][2];
};

// A mask in global memory.
template <typename Value>
struct Mask {
  const Value* row0;  // of the tile's batch entry
  long long stride_head, stride_row, stride_key;
  bool paired;  // pairs of an even number of keys lie together and aligned in every row

  FFPA_DEVICE const Value* row_at(const Tile& tile, int row, int key) const {
    const RowPlace place = place_of(tile, tile.row_begin + row);
    return row0 + place.head * stride_head + place.q * stride_row + key * stride_key;
  }

  // Of the lane's row (i, h), all before the first is used. Keys past the last are read as some other.
  FFPA_DEVICE MaskRow<Value> load(const Tile& tile, int kv, int i, int h) const {
    struct alignas(2 * sizeof(Value)) Pair {
      Value value[2];
    };
    const int last = tile.seqlen_k - 1 - kv - key_of(0);
    const Value* row = row_at(tile, row_of(i, h), kv + key_of(0));
    MaskRow<Value> to;
    if (paired) {
#pragma unroll
      for (int j = 0; j < kSTiles; ++j) {
        const Pair pair = *(const Pair*)(row + (8 * j < last ? 8 * j : last - 1));
        to.value[j][0] = pair.value[0];
        to.value[j][1] = pair.value[1];
      }
    } else {
#pragma unroll
      for (int j = 0; j < 2 * kSTiles; ++j) {
        const int key = j / 2 * 8 + j % 2;
        to.value[j / 2][j % 2] = row[(key < last ? key : last) * stride_key];
      }
    }
    return to;
  }

  FFPA_DEVICE void load_ahead(MaskAhead& to, const Tile& tile, int kv) const {
    if (!paired) return;
    const int last = tile.seqlen_k - 1 - kv - key_of(0);
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const Value* row = row_at(tile, row_of(i, h), kv + key_of(0));
#pragma unroll
        for (int j = 0; j < kSTiles; ++j) {
          to.pair[i][h][j] = *(const unsigned short*)(row + (8 * j < last ? 8 * j : last - 1));
        }
      }
    }
  }

  // As load(), of what load_ahead() has brought.
  FFPA_DEVICE MaskRow<Value> row_of_ahead(const MaskAhead& ahead, int i, int h) const {
    MaskRow<Value> to;
#pragma unroll
    for (int j = 0; j < kSTiles; ++j) {
      to.value[j][0] = (Value)ahead.pair[i][h][j];
      to.value[j][1] = (Value)(ahead.pair[i][h][j] >> 8);
    }
    return to;
  }

  // Asks for the rows of [kv, kv + kBlockN), so that they are near when load() reads them.
  FFPA_DEVICE void prefetch(const Tile& tile, int kv) const {
    if (stride_key != 1) return;
    constexpr int kLineKeys = 128 / sizeof(Value);
    constexpr int kLines = (kBlockN + kLineKeys - 1) / kLineKeys;
    for (int piece = (int)threadIdx.x; piece < kBlockM * kLines; piece += kThreads) {
      const int key = kv + piece % kLines * kLineKeys;
      if (key < tile.seqlen_k) prefetch_global_l1(row_at(tile, piece / kLines, key));
    }
  }
};

template <typename Value>
FFPA_DEVICE Mask<Value> mask_at(const void* tensor, const Tile& tile, long long stride_batch, long long stride_head,
                                long long stride_row, long long stride_key) {
  const Value* row0 = (const Value*)tensor + tile.batch * stride_batch;
  const bool paired = stride_key == 1 && ((tile.seqlen_k | stride_head | stride_row) & 1) == 0 &&
                      (unsigned long long)row0 % (2 * sizeof(Value)) == 0;
  return {row0, stride_head, stride_row, stride_key, paired};
}

//% endif
//% if mask
FFPA_DEVICE Mask<unsigned char> boolean_mask(const ForwardParams& params, const Tile& tile) {
  return mask_at<unsigned char>(params.mask, tile, params.mask_stride_batch, params.mask_stride_head,
                                params.mask_stride_row, params.mask_stride_key);
}

//% endif
//% if bias
FFPA_DEVICE Mask<BiasElement> additive_mask(const ForwardParams& params, const Tile& tile) {
  return mask_at<BiasElement>(params.bias, tile, params.bias_stride_batch, params.bias_stride_head,
                              params.bias_stride_row, params.bias_stride_key);
}

//% endif
// -infinity where a row does not see a key, whatever Q K^T came out as.
FFPA_DEVICE void mask_scores(ScoreTile& scores, const ForwardParams& params, const Tile& tile,
                             int kv{{ ", const MaskAhead& ahead" if mask else "" }}) {
//% if mask
  const Mask<unsigned char> boolean = boolean_mask(params, tile);
//% endif
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const RowPlace place = place_of(tile, tile.row_begin + row_of(i, h));
      KeyRange visible = keys_of_row(params, tile, place.q);
      if (visible.end > tile.kv_end) visible.end = tile.kv_end;
//% if window_left
      const int begin = visible.begin - kv - key_of(0);
//% endif
      const int end = visible.end - kv - key_of(0);  // as the loop below counts keys
//% if mask
      const MaskRow<unsigned char> mask =
          kMaskAhead && boolean.paired ? boolean.row_of_ahead(ahead, i, h) : boolean.load(tile, kv, i, h);
//% endif
//% if bias
      const MaskRow<BiasElement> biases = additive_mask(params, tile).load(tile, kv, i, h);
//% endif
#pragma unroll
      for (int j = 0; j < kSTiles; ++j) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = scores.value[i][j][2 * h + e];
          bool shown = 8 * j + e < end{{ " && 8 * j + e >= begin" if window_left else "" }};
//% if mask
          shown = shown && mask.value[j][e] != 0;
//% endif
//% if bias
          const float bias = {{ "" if bias == "fp32" else "to_float" }}(biases.value[j][e]);
          shown = shown && bias != -kInfinity;
          score += bias;
//% endif
          score = shown ? score : -kInfinity;
        }
      }
    }
  }
}

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
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        if (lane() % 4 == 0) st_shared_f32(stats_address(smem, row_of(i, h), warp_n()), highest[i][h]);
      }
    }
    bar_sync(1 + warp_m(), 32 * kWarpsN);
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int w = 0; w < kWarpsN; ++w) {
          highest[i][h] = max_f32(highest[i][h], ld_shared_f32(stats_address(smem, row_of(i, h), w)));
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
  bool risen = false;
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
        state.sum[i][h] *= rescale;
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
          state.sum[i][h] += weight[e];
        }
        probs.value[i][j / 2][j % 2 * 2 + h] = pack(weight[0], weight[1]);
      }
    }
  }
}
//% if dropout

// Four decisions as bits 0 to 3: of the elements of one block of Philox, `element` being its first.
FFPA_DEVICE unsigned kept_of_block(unsigned long long seed, unsigned long long element, float p) {
  const PhiloxBlock block = philox_block(seed, element >> 2);
  unsigned kept = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) kept |= (unsigned)word_keeps(block.word[i], p) << i;
  return kept;
}

// Bit 2 j + e: whether score (j, e) of a row is kept; `row` is the element of key_of(0).
FFPA_DEVICE unsigned kept_of_row(unsigned long long seed, unsigned long long row, float p, bool aligned) {
  unsigned kept = 0;
  if (aligned) {
    // A block of four elements lies on two lanes. The even one decides the even n-tiles' block, the odd one the odd's.
    const int odd = lane() % 2;
#pragma unroll
    for (int j = 0; j < kSTiles; j += 2) {
      const unsigned own = kept_of_block(seed, row + (unsigned)((j + odd) * 8) - 2 * odd, p);
      const float brought = shfl_bfly(__builtin_bit_cast(float, own), 1);
      const unsigned other = __builtin_bit_cast(unsigned, brought);
      const unsigned of_even = odd ? other >> 2 : own & 3;
      const unsigned of_odd = odd ? own >> 2 : other & 3;
      kept |= (of_even | of_odd << 2) << (2 * j);
    }
  } else {
#pragma unroll 1
    for (int bit = 0; bit < 2 * kSTiles; ++bit) {
      kept |= (unsigned)dropout_keeps(seed, row + (unsigned)(bit / 2 * 8 + bit % 2), p) << bit;
    }
  }
  return kept;
}

// Dropped weights become 0. What is kept is scaled in store().
FFPA_DEVICE void drop(ProbTile& probs, const ForwardParams& params, const Tile& tile, int kv,
                      const PhiloxKey& philox) {
  static_assert(2 * kSTiles <= 32);
  const bool aligned = ((philox.offset | (unsigned)params.seqlen_k) & 3) == 0;
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const RowPlace place = place_of(tile, tile.row_begin + row_of(i, h));
      const unsigned long long row = dropout_row(params, philox, tile.batch, place.head, place.q);
      const unsigned kept = kept_of_row(philox.seed, row + (unsigned)(kv + key_of(0)), params.dropout_p, aligned);
#pragma unroll
      for (int j = 0; j < kSTiles; ++j) {
        const unsigned low = kept >> (2 * j) & 1, high = kept >> (2 * j + 1) & 1;
        probs.value[i][j / 2][j % 2 * 2 + h] &= (0u - low & 0xffffu) | high * 0xffff0000u;
      }
    }
  }
}
//% endif
