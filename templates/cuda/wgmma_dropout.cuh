// Dropout of the `wgmma` family: whether elements are kept, 32 keys of a row at a time, and what that leaves of P. The including template
// has included common/philox.h, cuda/lib/carry.cuh and cuda/lib/byte_permute.cuh.

// What all of a kernel's blocks of Philox have alike.
struct Dice {
  PhiloxKey philox;
  unsigned carries;  // a word plus this carries: it is kept. 0: all are
};

// Dice::carries. Takes a while: once.
FFPA_DEVICE unsigned kept_carries(const ForwardParams& params) { return 0u - first_kept_word(params.dropout_p); }

// `kept`, and before them the decisions on kBlocks blocks from {low, high} on, of which none carries into `high`.
template <int kBlocks>
FFPA_DEVICE unsigned prepend_kept(unsigned kept, const Dice& dice, unsigned low, unsigned high) {
  PhiloxBlock block[kBlocks];
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) block[i] = {low + (unsigned)i, high, 0u, 0u};
  unsigned key[2] = {(unsigned)dice.philox.seed, (unsigned)(dice.philox.seed >> 32)};
  // Together, so that one's latency is the others' time. What is known of the counter saves two of the twenty products.
#pragma unroll
  for (int round = 0; round < 10; ++round) {
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) philox_round(block[i], key);
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
#pragma unroll
  for (int i = kBlocks - 1; i >= 0; --i) {
#pragma unroll
    for (int e = 3; e >= 0; --e) kept = append_carry(kept, block[i].word[e], dice.carries);
  }
  return kept;
}

// Bit k: whether element + k is kept. So many blocks at a time as there are registers for.
template <int kBlocks>
FFPA_DEVICE unsigned kept_of_32(const Dice& dice, unsigned long long element) {
  const unsigned low = (unsigned)(element >> 2), high = (unsigned)(element >> 34);
  unsigned kept = 0;
  if (dice.carries == 0) return 0xffffffffu;
  if (low > 0xfffffff7u) {
#pragma unroll 1
    for (int i = 31; i >= 0; --i) kept = append_carry(kept, philox_word(dice.philox.seed, element + (unsigned)i), dice.carries);
    return kept;
  }
#pragma unroll 1
  for (int i = 8 - kBlocks; i >= 0; i -= kBlocks) kept = prepend_kept<kBlocks>(kept, dice, low + (unsigned)i, high);
  const unsigned offset = (unsigned)element & 3;
  // The row starts inside a block: the word's last elements are in one more.
  if (offset != 0) kept = kept >> offset | prepend_kept<1>(0, dice, low + 8, high) << (32 - offset);
  return kept;
}

// Decisions on the lane's keys among 32, a byte for each of four n-tiles, where prmt() finds signs.
struct KeptTiles {
  unsigned low, high;  // of the even key of each pair, and the odd one
};

FFPA_DEVICE KeptTiles kept_tiles(unsigned kept) {
  const unsigned shift = 7 - (unsigned)lane() % 4 * 2;
  return {kept << shift, kept << (shift - 1)};
}

// What dropout leaves of a pair of P, of n-tile `tile` of the four.
FFPA_DEVICE unsigned drop(unsigned pair, const KeptTiles& kept, int tile) {
  return pair & prmt(kept.low, kept.high, (unsigned)tile * 0x1111u + 0xcc88u);
}

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
