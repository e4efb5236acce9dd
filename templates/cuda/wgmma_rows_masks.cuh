// Which scores of cuda/wgmma_rows.cu.j2 count, and what is added to them.
//% if masked

// A mask in global memory.
template <typename Value>
struct Mask {
  const Value* row0;  // of the tile's batch entry and head
  long long stride_row, stride_key;
  bool paired;  // pairs of an even number of keys lie together and aligned in every row
  bool wide;    // so do 16 bytes

  FFPA_DEVICE const Value* at(int query, int key) const { return row0 + query * stride_row + key * stride_key; }
};

template <typename Value>
FFPA_DEVICE Mask<Value> mask_at(const void* tensor, const Tile& tile, long long stride_batch, long long stride_head,
                                long long stride_row, long long stride_key) {
  const Value* row0 = (const Value*)tensor + tile.batch * stride_batch + tile.head * stride_head;
  const bool paired = stride_key == 1 && ((tile.seqlen_k | stride_row) & 1) == 0 &&
                      (unsigned long long)row0 % (2 * sizeof(Value)) == 0;
  const bool wide = paired && stride_row * (long long)sizeof(Value) % 16 == 0 && (unsigned long long)row0 % 16 == 0;
  return {row0, stride_row, stride_key, paired, wide};
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

//% if mask

// Bit i: whether byte i is not 0.
FFPA_DEVICE unsigned nonzero_bytes(unsigned bytes) {
  const unsigned high = ((bytes & 0x7f7f7f7fu) + 0x7f7f7f7fu | bytes) & 0x80808080u;
  return high * 0x00204081u >> 28;
}
//% endif

// What is known of a tile's scores before they are: masks are read a tile ahead, dropout is decided while Q K^T is computed.
struct Marks {
//% if mask
  // Whether two words of `shown` hold 16 bytes of a row, of the lane's sixteenth of 64 keys: a few wide loads instead of many
  // narrow ones, which would take the time of the shared memory that wgmma reads from. Else a byte for each of the lane's
  // scores of a row, two n-tiles to a word.
  static constexpr bool kWide = kBlockN % 64 == 0;
  unsigned shown[2][kSTiles / 2];
  bool wide;
//% endif
//% if bias
  // Pairs of four n-tiles, in one word or two; when `bias_wide`, the four pairs of one: as wide loads bring them.
  static constexpr int kBiasWords = sizeof(BiasElement) / 2;
  unsigned bias[2][(kSTiles + 3) / 4][kBiasWords][4];
  bool bias_wide;
//% endif
//% if dropout
  static constexpr int kWords = (2 * kSTiles + 31) / 32;
  unsigned kept[2][kWords];  // bit 2 i + e is of column_of(i) + e
//% endif

  // Of keys past the last, those of some other.
  FFPA_DEVICE void load({{ "" if masked else "[[maybe_unused]] " }}const ForwardParams& params, {{ "" if masked else "[[maybe_unused]] " }}const Tile& tile,
                        {{ "" if masked else "[[maybe_unused]] " }}int j) {
//% if masked
    const int kv = first_key(tile, j);
    const bool whole = kv + kBlockN <= tile.seqlen_k;
    const int last = tile.seqlen_k - 1 - kv - column_of(0);
//% endif
//% if mask
    const Mask<unsigned char> mask = boolean_mask(params, tile);
    wide = uniform(kWide && whole && mask.wide && kv % 16 == 0) != 0;
    const bool paired = uniform(whole && mask.paired) != 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const unsigned char* row = mask.at(query_of(tile, row_of(h)), kv + column_of(0));
      if (wide) {
        const unsigned char* from = row - column_of(0) + lane() % 4 * 16;
#pragma unroll
        for (int c = 0; c < kSTiles / 8; ++c) {
          const Words4 words = *(const Words4*)(from + 64 * c);
#pragma unroll
          for (int i = 0; i < 4; ++i) shown[h][4 * c + i] = words.word[i];
        }
      } else if (paired) {
#pragma unroll
        for (int i = 0; i < kSTiles / 2; ++i) {
          shown[h][i] = *(const unsigned short*)(row + 16 * i) | (unsigned)*(const unsigned short*)(row + 16 * i + 8) << 16;
        }
      } else {
#pragma unroll
        for (int i = 0; i < kSTiles / 2; ++i) {
          unsigned word = 0;
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            const int key = 16 * i + k / 2 * 8 + k % 2;
            word |= (unsigned)row[(key < last ? key : last) * mask.stride_key] << (8 * k);
          }
          shown[h][i] = word;
        }
      }
    }
//% endif
//% if bias
    const Mask<BiasElement> biases = additive_mask(params, tile);
    const bool bias_paired = uniform(whole && biases.paired) != 0;
    bias_wide = uniform(kSTiles % 4 == 0 && whole && biases.wide && kv % 8 == 0) != 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const BiasElement* row = biases.at(query_of(tile, row_of(h)), kv + column_of(0));
      if (bias_wide) {
        const BiasElement* from = row - column_of(0) + lane() % 4 * 8;
#pragma unroll
        for (int c = 0; c < kSTiles / 4; ++c) {
#pragma unroll
          for (int w = 0; w < kBiasWords; ++w) {
            const Words4 words = *(const Words4*)(from + 32 * c + 4 * w);
            // fp32: two pairs in four words.
#pragma unroll
            for (int i = 0; i < 4; ++i) bias[h][c][kBiasWords == 1 ? 0 : i % 2][kBiasWords == 1 ? i : 2 * w + i / 2] = words.word[i];
          }
        }
      } else if (bias_paired) {
        struct alignas(2 * sizeof(BiasElement)) Words {
          unsigned word[kBiasWords];
        };
#pragma unroll
        for (int i = 0; i < kSTiles; ++i) {
          const Words words = *(const Words*)(row + 8 * i);
#pragma unroll
          for (int w = 0; w < kBiasWords; ++w) bias[h][i / 4][w][i % 4] = words.word[w];
        }
      } else {
#pragma unroll
        for (int i = 0; i < kSTiles; ++i) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const BiasElement value = row[(8 * i + e < last ? 8 * i + e : last) * biases.stride_key];
//% if bias == "fp32"
            bias[h][i / 4][e][i % 4] = __builtin_bit_cast(unsigned, value);
//% else
            bias[h][i / 4][0][i % 4] = (e == 0 ? 0 : bias[h][i / 4][0][i % 4]) | (unsigned)value << (16 * e);
//% endif
          }
        }
      }
    }
//% endif
  }

//% if bias
  // To where the lane's scores are.
  FFPA_DEVICE void spread_bias() {
    if (!bias_wide) return;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int c = 0; c < kSTiles / 4; ++c) {
#pragma unroll
        for (int w = 0; w < kBiasWords; ++w) transpose_quad(bias[h][c][w]);
      }
    }
  }
  FFPA_DEVICE float bias_of(int h, int i, int e) const {
//% if bias == "fp32"
    return __builtin_bit_cast(float, bias[h][i / 4][e][i % 4]);
//% else
    return to_float((Element)(bias[h][i / 4][0][i % 4] >> (16 * e)));
//% endif
  }
//% endif

//% if mask
  // Bit 2 i + e of a row: of column_of(i) + e.
  FFPA_DEVICE void find_shown(unsigned (&to)[2][(kSTiles + 15) / 16]) const {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int w = 0; w < (kSTiles + 15) / 16; ++w) to[h][w] = 0;
    }
    if (wide) {
      const int shift = lane() % 4 * 2;
#pragma unroll
      for (int c = 0; c < kSTiles / 8; ++c) {
        // 16 bits of each row, then those of the other lanes of the quad: of keys 16 q onwards.
        unsigned bits = 0;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
#pragma unroll
          for (int i = 0; i < 4; ++i) bits |= nonzero_bytes(shown[h][4 * c + i]) << (16 * h + 4 * i);
        }
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          // Lane q's bits are of n-tiles 2 q and 2 q + 1 of the 64 keys, eight to a tile.
          const unsigned of_lane = __builtin_bit_cast(unsigned, shfl_idx(__builtin_bit_cast(float, bits), (unsigned)lane() / 4 * 4 + q)) >> shift;
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const unsigned pairs = (of_lane >> (16 * h) & 3) | (of_lane >> (16 * h + 8) & 3) << 2;
            to[h][c / 2] |= pairs << (4 * q + 16 * (c % 2));
          }
        }
      }
      return;
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int i = 0; i < kSTiles / 2; ++i) to[h][i / 8] |= nonzero_bytes(shown[h][i]) << (4 * (i % 8));
    }
  }
//% endif

//% if dropout
  FFPA_DEVICE void draw(const ForwardParams& params, const Tile& tile, int j) {
    const PhiloxKey philox = philox_key(params);
    const unsigned least = tile.kept_from;
    const bool aligned = ((philox.offset | (unsigned)params.seqlen_k) & 3) == 0;
    unsigned long long row[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      row[h] = dropout_row(params, philox, tile.batch, tile.head, query_of(tile, row_of(h))) + (unsigned)(first_key(tile, j) + column_of(0));
    }
    // A lane decides one block of four elements for two n-tiles of each row, its neighbour the other (kept_of_pair).
    const unsigned odd = (unsigned)lane() % 2;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const int count = kSTiles - 16 * w < 16 ? kSTiles - 16 * w : 16;
      kept[0][w] = kept[1][w] = 0;
      if (aligned) {
        // Both rows at a time, and two steps: ten rounds in a row leave the arithmetic units idle otherwise.
#pragma unroll 1
        for (int i = 0; i < count; i += 4) {
          PhiloxBlock block[4];
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            block[k] = philox_counter((row[k % 2] + (unsigned)(8 * (16 * w + i + k / 2 * 2)) + odd * 6u) >> 2);
          }
          philox_blocks(block, philox.seed);
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            unsigned own = 0;
#pragma unroll
            for (int e = 0; e < 4; ++e) own |= (unsigned)(block[k].word[e] >= least) << e;
            kept[k % 2][w] |= exchange_kept(own) << (2 * (i + k / 2 * 2)) % 32;
          }
        }
      } else {
#pragma unroll 1
        for (int i = 0; i < count; i += 2) {
#pragma unroll
          for (int h = 0; h < 2; ++h) kept[h][w] |= kept_of_pair(philox.seed, row[h] + 8 * (16 * w + i), least, false) << (2 * i);
        }
      }
    }
  }
//% endif
};

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
//% if natural
// Scale, softcap and modifier of one score, in this order: in natural units.
FFPA_DEVICE float modified(float score, const ForwardParams& params, [[maybe_unused]] const Tile& tile, [[maybe_unused]] int query,
                           [[maybe_unused]] int key) {
  score *= params.softmax_scale;
//% if softcap
  score = params.softcap * tanh_of(score * (1.0f / params.softcap));
//% endif
//% if modifier
  score = modifier::modified(params, score, tile.batch, tile.head, query, key, tile.seqlen_q, tile.seqlen_k);
//% endif
  return score;
}

//% endif
// What turns a difference of scores into a power of two.
FFPA_DEVICE float exponent_scale(const ForwardParams& params) {
//% if natural
  return kLog2e;
//% else
  const float scale = (params.softmax_scale < 0.0f ? -params.softmax_scale : params.softmax_scale) * kLog2e;
  return scale < 1e-36f ? 1e-36f : scale;  // -infinity * 0 would be NaN; of a finite score, nothing is left
//% endif
}

// Before masks. Where nothing else touches the scores, the scale is left to the exponent, up to its sign.
FFPA_DEVICE void modify_scores(ScoreTile& scores, [[maybe_unused]] Marks& marks, const ForwardParams& params,
                               [[maybe_unused]] const Tile& tile, [[maybe_unused]] int j) {
//% if natural
//% if bias
  marks.spread_bias();
//% endif
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int query = query_of(tile, row_of(h));
#pragma unroll
    for (int i = 0; i < kSTiles; ++i) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores.value[4 * i + 2 * h + e];
        score = modified(score, params, tile, query, first_key(tile, j) + column_of(i) + e);
//% if bias
        const float bias = marks.bias_of(h, i, e);
        score = bias == -kInfinity ? -kInfinity : score + bias;
//% endif
      }
    }
  }
//% else
  if (params.softmax_scale >= 0.0f) return;
#pragma unroll
  for (int i = 0; i < kBlockN / 2; ++i) scores.value[i] = -scores.value[i];
//% endif
}

// -infinity where a row does not see a key, whatever Q K^T came out as.
FFPA_DEVICE void hide_scores(ScoreTile& scores, [[maybe_unused]] const Marks& marks, const ForwardParams& params, const Tile& tile, int j) {
  const int kv = first_key(tile, j);
//% if mask
  unsigned shown[2][(kSTiles + 15) / 16];
  marks.find_shown(shown);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
#pragma unroll
    for (int i = 0; i < 2 * kSTiles; ++i) {
      float& score = scores.value[4 * (i / 2) + 2 * h + i % 2];
      score = shown[h][i / 32] >> (i % 32) & 1 ? score : -kInfinity;
    }
  }
//% endif
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
