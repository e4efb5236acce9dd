// Masks, online softmax and dropout of cuda/mma_forward.cu.j2, on scores in registers.
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
// Whether some row of the tile does not see some key of [kv, kv + kBlockN).
FFPA_DEVICE bool is_partial(const ForwardParams& params, const Tile& tile, int kv) {
//% if mask or bias
  return true;
//% else
//% if not (window_left or window_right or packed)
  return kv + kBlockN > tile.seqlen_k;
//% else
  const int end = tile.full_end < tile.kv_end ? tile.full_end : tile.kv_end;
  return kv < tile.full_begin || kv + kBlockN > end;
//% endif
//% endif
}

//% if mask or bias
// What a mask holds for the lane's scores of one row, packed: groups of keys one after the other.
constexpr int kMaskGroup = kFours ? 4 : 2;
constexpr int kMaskGroups = 2 * kSTiles / kMaskGroup;

template <typename Value>
struct MaskRow {
  static constexpr int kWords = (kMaskGroup * sizeof(Value) + 3) / 4;
  unsigned word[kMaskGroups][kWords];

  // A whole group, aligned. As words: taken apart only when it is used, since that waits for it.
  FFPA_DEVICE void load(int g, const Value* from) {
    if constexpr (kMaskGroup * sizeof(Value) < 4) {
      word[g][0] = *(const unsigned short*)from;
    } else {
      struct alignas(4 * kWords) Words {
        unsigned word[kWords];
      };
      const Words words = *(const Words*)from;
#pragma unroll
      for (int w = 0; w < kWords; ++w) word[g][w] = words.word[w];
    }
  }
  FFPA_DEVICE void set(int g, int s, Value value) {
    constexpr int kOfWord = 4 / sizeof(Value);
    if constexpr (sizeof(Value) == 4) {
      word[g][s] = __builtin_bit_cast(unsigned, value);
    } else {
      const unsigned bits = (unsigned)value << s % kOfWord * (8 * sizeof(Value));
      word[g][s / kOfWord] = s % kOfWord == 0 ? bits : word[g][s / kOfWord] | bits;
    }
  }
  // Of element e of n-tile j of S.
  FFPA_DEVICE Value at(int j, int e) const {
    const int g = kFours ? j / 2 : j;
    const int s = kFours ? j % 2 * 2 + e : e;
    constexpr int kOfWord = 4 / sizeof(Value);
    if constexpr (sizeof(Value) == 4) {
      return __builtin_bit_cast(Value, word[g][s]);
    } else {
      return (Value)(word[g][s / kOfWord] >> s % kOfWord * (8 * sizeof(Value)));
    }
  }
};

template <typename Value>
struct MaskTile {
  MaskRow<Value> row[kMTiles][2];
};

// M-tiles whose masks are loaded before Q K^T, so that nothing waits for them after: as many as leave registers.
constexpr int kMaskWords =
    2 * kMaskGroups * (0{{ " + MaskRow<unsigned char>::kWords" if mask else "" }}{{ " + MaskRow<BiasElement>::kWords" if bias else "" }});
constexpr int kQueryRegisters = kQInRegisters ? kMTiles * kChunkD / 4 : 0;
constexpr int kFreeRegisters = {{ 168 if dropout or softcap or varlen or window_left or modifier else 180 }} -
                               4 * kMTiles * (kOTiles + kSTiles) - kQueryRegisters;
constexpr int kMostAhead = {{ 0 if bias == "fp32" else 16 }};
constexpr int kAheadRegisters = kFreeRegisters < 0 ? 0 : kFreeRegisters < kMostAhead ? kFreeRegisters : kMostAhead;
constexpr int kAhead = kAheadRegisters / kMaskWords < kMTiles ? kAheadRegisters / kMaskWords : kMTiles;

// A mask in global memory.
template <typename Value>
struct Mask {
  const Value* row0;  // of the tile's batch entry
  long long stride_head, stride_row, stride_key;
  int keys;      // a row has
  bool grouped;  // groups of keys lie together and aligned in every row, the last one whole

  FFPA_DEVICE const Value* row_at(const Tile& tile, int row, int key) const {
    const RowPlace place = place_of(tile, tile.row_begin + row);
    return row0 + place.head * stride_head + place.q * stride_row + key * stride_key;
  }

  // Of the lane's row (i, h). Keys past the last are read as some other.
  FFPA_DEVICE void load(MaskRow<Value>& to, const Tile& tile, int kv, int i, int h) const {
    const int last = keys - 1 - kv - first_key();
    const Value* row = row_at(tile, row_of(i, h), kv + first_key());
#pragma unroll
    for (int g = 0; g < kMaskGroups; ++g) {
      const int key = key_step(g * kMaskGroup / 2, 0);
      if (grouped) {
        to.load(g, row + (key <= last ? key : last - (kMaskGroup - 1)));
      } else {
#pragma unroll
        for (int s = 0; s < kMaskGroup; ++s) to.set(g, s, row[(key + s < last ? key + s : last) * stride_key]);
      }
    }
  }

  // Of the lane's rows in m-tiles [begin, end).
  FFPA_DEVICE void load_tiles(MaskTile<Value>& to, const Tile& tile, int kv, int begin, int end) const {
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
      if (i < begin || i >= end) continue;
#pragma unroll
      for (int h = 0; h < 2; ++h) load(to.row[i][h], tile, kv, i, h);
    }
  }

  // Asks for the rows of [kv, kv + kBlockN), so that they are near when load() reads them.
  FFPA_DEVICE void prefetch(const Tile& tile, int kv) const {
    if (stride_key != 1) return;
    constexpr int kLineKeys = 128 / sizeof(Value);
    constexpr int kLines = (kBlockN + kLineKeys - 1) / kLineKeys;
    for (int piece = (int)threadIdx.x; piece < kBlockM * kLines; piece += kThreads) {
      const int key = kv + piece % kLines * kLineKeys;
      if (key < keys) prefetch_global_l1(row_at(tile, piece / kLines, key));
    }
  }
};

template <typename Value>
FFPA_DEVICE Mask<Value> mask_at({{ "const ForwardParams& params, " if seqlens_k }}const void* tensor, const Tile& tile,
                                long long stride_batch, long long stride_head, long long stride_row,
                                long long stride_key) {
  const Value* row0 = (const Value*)tensor + tile.batch * stride_batch;
  const int keys = {{ "params" if seqlens_k else "tile" }}.seqlen_k;
  const bool grouped = stride_key == 1 && ((keys | stride_head | stride_row) & (kMaskGroup - 1)) == 0 &&
                       (unsigned long long)row0 % (kMaskGroup * sizeof(Value)) == 0;
  return {row0, stride_head, stride_row, stride_key, keys, grouped};
}

//% endif
//% if mask
FFPA_DEVICE Mask<unsigned char> boolean_mask(const ForwardParams& params, const Tile& tile) {
  return mask_at<unsigned char>({{ "params, " if seqlens_k }}params.mask, tile, params.mask_stride_batch, params.mask_stride_head,
                                params.mask_stride_row, params.mask_stride_key);
}

//% endif
//% if bias
FFPA_DEVICE Mask<BiasElement> additive_mask(const ForwardParams& params, const Tile& tile) {
  return mask_at<BiasElement>({{ "params, " if seqlens_k }}params.bias, tile, params.bias_stride_batch, params.bias_stride_head,
                              params.bias_stride_row, params.bias_stride_key);
}

//% endif
//% if masked
// What the tile's masks hold.
struct Masks {
//% if mask
  MaskTile<unsigned char> boolean;
//% endif
//% if bias
  MaskTile<BiasElement> additive;
//% endif

  FFPA_DEVICE void begin(const ForwardParams& params, const Tile& tile, int kv) {
//% for name, member in [("boolean_mask", "boolean")] * mask + [("additive_mask", "additive")] * (1 if bias else 0)
    {
      const auto mask = {{ name }}(params, tile);
      mask.load_tiles({{ member }}, tile, kv, 0, kAhead);
      if (kAhead < kMTiles) mask.prefetch(tile, kv);
    }
//% endfor
  }
  FFPA_DEVICE void load(const ForwardParams& params, const Tile& tile, int kv, int begin, int end) {
//% for name, member in [("boolean_mask", "boolean")] * mask + [("additive_mask", "additive")] * (1 if bias else 0)
    {{ name }}(params, tile).load_tiles({{ member }}, tile, kv, begin, end);
//% endfor
  }
};

//% endif
// -infinity where a row does not see a key, whatever Q K^T came out as.
FFPA_DEVICE void mask_scores(ScoreTile& scores, const ForwardParams& params, const Tile& tile,
                             int kv{{ ", Masks& masks" if masked else "" }}) {
  const unsigned index = ctaid_x();
  const int first = first_key();
//% if masked
  constexpr bool kRestAtOnce = kMaskWords * (kMTiles - kAhead) <= 16;
  if (kRestAtOnce) masks.load(params, tile, kv, kAhead, kMTiles);
//% endif
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
//% if masked
    if (!kRestAtOnce && i >= kAhead) masks.load(params, tile, kv, i, i + 1);
//% endif
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      // The block's index is read anew, so that nothing of this is kept in registers from tile to tile.
      const int row = tile.row_begin + row_of(i, h) + (int)(ctaid_x() - index);
      const RowPlace place = place_of(tile, row);
      KeyRange visible = keys_of_row(params, tile, place.q);
{{ "      if (visible.end > tile.kv_end) visible.end = tile.kv_end;" if packed }}
//% if window_left
      const int begin = visible.begin - kv - first;
//% endif
      const int end = visible.end - kv - first;  // as key_step() counts
#pragma unroll
      for (int j = 0; j < kSTiles; ++j) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = scores.value[i][j][2 * h + e];
          const int key = key_step(j, e);
          bool shown = key < end{{ " && key >= begin" if window_left else "" }};
//% if mask
          shown = shown && masks.boolean.row[i][h].at(j, e) != 0;
//% endif
//% if bias
          const float bias = {{ "" if bias == "fp32" else "to_float" }}(masks.additive.row[i][h].at(j, e));
          shown = shown && bias != -kInfinity;
          score = {{ "fma_rn(score, params.softmax_scale, bias)" if scaled_with_bias else "score + bias" }};
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
//% if dropout

// Four decisions as bits 0 to 3: of the elements of one block of Philox, `element` being its first.
FFPA_DEVICE unsigned kept_of_block(unsigned long long seed, unsigned long long element, float p) {
  const PhiloxBlock block = philox_block(seed, element >> 2);
  unsigned kept = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) kept |= (unsigned)word_keeps(block.word[i], p) << i;
  return kept;
}

// Bit 2 j + e: whether score (j, e) of a row is kept; `row` is the element of first_key().
FFPA_DEVICE unsigned kept_of_row(unsigned long long seed, unsigned long long row, float p, bool aligned) {
  unsigned kept = 0;
  if (aligned && !kFours) {
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
      kept |= (unsigned)dropout_keeps(seed, row + (unsigned)key_step(bit / 2, bit % 2), p) << bit;
    }
  }
  return kept;
}

// What dropout needs of the launch.
struct Dropout {
  PhiloxKey key;
  unsigned first_kept;  // words from here on keep
};
FFPA_DEVICE Dropout dropout_of(const ForwardParams& params) {
  return {philox_key(params), first_kept_word(params.dropout_p)};
}

// Dropped weights become 0. What is kept is scaled in store().
FFPA_DEVICE void drop(ProbTile& probs, const ForwardParams& params, const Tile& tile, int kv, const Dropout& dropout) {
  static_assert(2 * kSTiles <= 32);
  const bool aligned = ((dropout.key.offset | (unsigned)params.seqlen_k) & 3) == 0;
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const RowPlace place = place_of(tile, tile.row_begin + row_of(i, h));
      const unsigned long long row =
          dropout_row(params, dropout.key, tile.batch, place.head, place.q) + (unsigned)(kv + first_key());
      if (kFours && aligned) {
#pragma unroll
        for (int four = 0; four < kSTiles / 2; ++four) {
          const PhiloxBlock block = philox_block(dropout.key.seed, (row >> 2) + 4 * four);
#pragma unroll
          for (int pair = 0; pair < 2; ++pair) {
            const unsigned low = block.word[2 * pair] >= dropout.first_kept ? 0xffffu : 0u;
            const unsigned high = block.word[2 * pair + 1] >= dropout.first_kept ? 0xffff0000u : 0u;
            probs.value[i][four][2 * pair + h] &= low | high;
          }
        }
        continue;
      }
      const unsigned kept = kept_of_row(dropout.key.seed, row, params.dropout_p, aligned);
#pragma unroll
      for (int j = 0; j < kSTiles; ++j) {
        const unsigned low = kept >> (2 * j) & 1, high = kept >> (2 * j + 1) & 1;
        probs.value[i][j / 2][j % 2 * 2 + h] &= (0u - low & 0xffffu) | high * 0xffff0000u;
      }
    }
  }
}
//% endif
