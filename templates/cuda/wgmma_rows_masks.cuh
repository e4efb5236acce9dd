// The boolean mask of cuda/wgmma_rows.cu.j2.

FFPA_DEVICE Mask<unsigned char> boolean_mask(const ForwardParams& params, const Tile& tile) {
  return mask_at<unsigned char>(params.mask, tile, params.mask_stride_batch, params.mask_stride_head,
                                params.mask_stride_row, params.mask_stride_key);
}

// Bit i: whether byte i is not 0.
FFPA_DEVICE unsigned nonzero_bytes(unsigned bytes) {
  const unsigned high = ((bytes & 0x7f7f7f7fu) + 0x7f7f7f7fu | bytes) & 0x80808080u;
  return high * 0x00204081u >> 28;
}

// What the mask says about a tile's scores, read a tile ahead.
struct ShownMarks {
  // Whether two words of `shown` hold 16 bytes of a row, of the lane's sixteenth of 64 keys: a few wide loads instead of many
  // narrow ones, which would take the time of the shared memory that wgmma reads from. Else a byte for each of the lane's
  // scores of a row, two n-tiles to a word.
  static constexpr bool kWide = kBlockN % 64 == 0;
  unsigned shown[2][kSTiles / 2];
  bool wide;

  // Of keys past the last, those of some other.
  FFPA_DEVICE void load(const ForwardParams& params, const Tile& tile, int j) {
    const int kv = first_key(tile, j);
    const bool whole = kv + kBlockN <= tile.seqlen_k;
    const int last = tile.seqlen_k - 1 - kv - column_of(0);
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
  }

  // Bit 2 i + e of a row: of column_of(i) + e.
  FFPA_DEVICE void find(unsigned (&to)[2][(kSTiles + 15) / 16]) const {
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
};
