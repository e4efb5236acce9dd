// Dropout decisions of wgmma's accumulators. The including template has included common/philox.h and defines lane().

// The least word that is kept: word_keeps() holds from there on, since it never falls.
FFPA_DEVICE unsigned kept_from(float p) {
  unsigned least = 0;
#pragma unroll 1
  for (int bit = 31; bit >= 0; --bit) {
    const unsigned below = least | ((1u << bit) - 1);
    if (!word_keeps(below, p)) least = below + 1;
  }
  return least;
}

// Four decisions as bits 0 to 3: of the elements of one block of Philox, `element` being its first.
FFPA_DEVICE unsigned kept_of_block(unsigned long long seed, unsigned long long element, unsigned least) {
  const PhiloxBlock block = philox_block(seed, element >> 2);
  unsigned kept = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) kept |= (unsigned)(block.word[i] >= least) << i;
  return kept;
}

// Of a lane's block and its neighbour's: bits 0 to 3 of its own scores, two of each block.
FFPA_DEVICE unsigned exchange_kept(unsigned own) {
  const unsigned other = __builtin_bit_cast(unsigned, shfl_bfly(__builtin_bit_cast(float, own), 1));
  return lane() % 2 ? other >> 2 | own >> 2 << 2 : (own & 3) | (other & 3) << 2;
}

// Bits 0 to 3: the lane's scores of two neighbouring n-tiles, of which `element` is the first.
FFPA_DEVICE unsigned kept_of_pair(unsigned long long seed, unsigned long long element, unsigned least, bool aligned) {
  if (aligned) {
    // A block of four elements lies on two lanes. The even one decides the first n-tile's block, the odd one the other's.
    return exchange_kept(kept_of_block(seed, element + (unsigned)(lane() % 2 * 6), least));
  }
  unsigned kept = 0;
#pragma unroll 1
  for (int i = 0; i < 4; ++i) kept |= (unsigned)(philox_word(seed, element + (unsigned)(i / 2 * 8 + i % 2)) >= least) << i;
  return kept;
}
