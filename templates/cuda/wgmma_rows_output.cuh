// The end of cuda/wgmma_rows.cu.j2: O and LSE to global memory.

// Of the lane's row of half h: 8 columns to each lane of a quad out of 32, which the quad holds in pairs: four n-tiles'
// pairs are transposed among its lanes.
FFPA_DEVICE void exchange(unsigned& a, unsigned& b, unsigned bit) {
  const bool upper = lane() & bit;
  const unsigned got = __builtin_bit_cast(unsigned, shfl_bfly(__builtin_bit_cast(float, upper ? a : b), bit));
  a = upper ? got : a;
  b = upper ? b : got;
}
FFPA_DEVICE void transpose_quad(unsigned (&word)[4]) {
  exchange(word[0], word[1], 1);
  exchange(word[2], word[3], 1);
  exchange(word[0], word[2], 2);
  exchange(word[1], word[3], 2);
}

// A row that saw no key: O = 0, LSE = -infinity.
FFPA_DEVICE void store(const OutTile& out, RowState& state, const ForwardParams& params, const Tile& tile) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float sum = state.sum[h];
    sum += shfl_bfly(sum, 1);
    sum += shfl_bfly(sum, 2);
    const float inverse = sum == 0.0f ? 0.0f : {{ "params.dropout_scale" if dropout else "1.0f" }} / sum;
    const int row = tile.row_begin + row_of(h);
    const bool stored = row < tile.rows;
    Element* to = (Element*)params.o + offset_of(tile, tile.head, tile.q_row + row, params.o_stride_batch, params.o_stride_head, params.o_stride_row);
    const bool aligned = ((unsigned long long)to & 15) == 0;
#pragma unroll
    for (int i = 0; i < (kOTiles + 3) / 4; ++i) {
      unsigned word[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int j = 4 * i + k;
        word[k] = j < kOTiles ? pack(out.value[4 * j + 2 * h] * inverse, out.value[4 * j + 2 * h + 1] * inverse) : 0;
      }
      transpose_quad(word);
      const int column = 32 * i + lane() % 4 * 8;
      if (!stored || column >= kHeadDimV) continue;
      if (aligned) {
        Words4 words;
#pragma unroll
        for (int k = 0; k < 4; ++k) words.word[k] = word[k];
        *(Words4*)(to + column) = words;
      } else {
#pragma unroll
        for (int k = 0; k < 8; ++k) to[column + k] = (Element)(word[k / 2] >> (k % 2 * 16));
      }
    }
//% if lse
    if (stored && lane() % 4 == 0) {
      params.lse[offset_of(tile, tile.head, tile.q_row + row, params.lse_stride_batch, params.lse_stride_head, 1)] =
          sum == 0.0f ? -kInfinity : state.origin[h] / kLog2e + logf(sum);
    }
//% endif
  }
}
