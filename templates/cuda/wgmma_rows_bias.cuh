// Biases of cuda/wgmma_rows.cu.j2, added to the scores in natural units.

FFPA_DEVICE Mask<BiasElement> additive_mask(const ForwardParams& params, const Tile& tile) {
  return mask_at<BiasElement>(params.bias, tile, params.bias_stride_batch, params.bias_stride_head,
                              params.bias_stride_row, params.bias_stride_key);
}

// A tile's biases of the lane's scores, read a tile ahead.
struct BiasMarks {
  // Pairs of four n-tiles, in one word or two; when `wide`, the four pairs of one: as wide loads bring them.
  static constexpr int kBiasWords = sizeof(BiasElement) / 2;
  unsigned value[2][(kSTiles + 3) / 4][kBiasWords][4];
  bool wide;

  // Of keys past the last, those of some other.
  FFPA_DEVICE void load(const ForwardParams& params, const Tile& tile, int j) {
    const int kv = first_key(tile, j);
    const bool whole = kv + kBlockN <= tile.seqlen_k;
    const int last = tile.seqlen_k - 1 - kv - column_of(0);
    const Mask<BiasElement> biases = additive_mask(params, tile);
    const bool paired = uniform(whole && biases.paired) != 0;
    wide = uniform(kSTiles % 4 == 0 && whole && biases.wide && kv % 8 == 0) != 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const BiasElement* row = biases.at(query_of(tile, row_of(h)), kv + column_of(0));
      if (wide) {
        const BiasElement* from = row - column_of(0) + lane() % 4 * 8;
#pragma unroll
        for (int c = 0; c < kSTiles / 4; ++c) {
#pragma unroll
          for (int w = 0; w < kBiasWords; ++w) {
            const Words4 words = *(const Words4*)(from + 32 * c + 4 * w);
            // fp32: two pairs in four words.
#pragma unroll
            for (int i = 0; i < 4; ++i) value[h][c][kBiasWords == 1 ? 0 : i % 2][kBiasWords == 1 ? i : 2 * w + i / 2] = words.word[i];
          }
        }
      } else if (paired) {
        struct alignas(2 * sizeof(BiasElement)) Words {
          unsigned word[kBiasWords];
        };
#pragma unroll
        for (int i = 0; i < kSTiles; ++i) {
          const Words words = *(const Words*)(row + 8 * i);
#pragma unroll
          for (int w = 0; w < kBiasWords; ++w) value[h][i / 4][w][i % 4] = words.word[w];
        }
      } else {
#pragma unroll
        for (int i = 0; i < kSTiles; ++i) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const BiasElement read = row[(8 * i + e < last ? 8 * i + e : last) * biases.stride_key];
//% if bias == "fp32"
            value[h][i / 4][e][i % 4] = __builtin_bit_cast(unsigned, read);
//% else
            value[h][i / 4][0][i % 4] = (e == 0 ? 0 : value[h][i / 4][0][i % 4]) | (unsigned)read << (16 * e);
//% endif
          }
        }
      }
    }
  }

  // To where the lane's scores are.
  FFPA_DEVICE void spread() {
    if (!wide) return;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int c = 0; c < kSTiles / 4; ++c) {
#pragma unroll
        for (int w = 0; w < kBiasWords; ++w) transpose_quad(value[h][c][w]);
      }
    }
  }
  FFPA_DEVICE float at(int h, int i, int e) const {
//% if bias == "fp32"
    return __builtin_bit_cast(float, value[h][i / 4][e][i % 4]);
//% else
    return to_float((Element)(value[h][i / 4][0][i % 4] >> (16 * e)));
//% endif
  }
};
