// Dropout of cuda/mma_forward.cu.j2, on probabilities in registers: bit for bit what the mask of PyTorch's memory-efficient kernel is.

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
