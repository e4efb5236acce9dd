// Dropout of cuda/wgmma_rows.cu.j2: which weights are kept, decided while Q K^T is computed.

struct KeptMarks {
  static constexpr int kWords = (2 * kSTiles + 31) / 32;
  unsigned kept[2][kWords];  // bit 2 i + e is of column_of(i) + e

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
};
