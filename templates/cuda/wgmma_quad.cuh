// Exchange among a quad, the four lanes that hold a row of wgmma's accumulators. The including template defines lane().

FFPA_DEVICE void exchange(unsigned& a, unsigned& b, unsigned bit) {
  const bool upper = lane() & bit;
  const unsigned got = __builtin_bit_cast(unsigned, shfl_bfly(__builtin_bit_cast(float, upper ? a : b), bit));
  a = upper ? got : a;
  b = upper ? b : got;
}

// Lane q's word k becomes lane k's word q: between a pair of each of four n-tiles, as accumulators are, and the four pairs of one,
// which lie together in memory.
FFPA_DEVICE void transpose_quad(unsigned (&word)[4]) {
  exchange(word[0], word[1], 1);
  exchange(word[2], word[3], 1);
  exchange(word[0], word[2], 2);
  exchange(word[1], word[3], 2);
}
