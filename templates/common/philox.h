// Dropout decisions: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), numbered
// as PyTorch's memory-efficient attention numbers them, so that masks agree bit for bit. Plain C++; the including
// template defines FFPA_DEVICE (how a function for its device is declared) and has included params.h.

struct PhiloxKey {
  unsigned long long seed;
  unsigned long long offset;
};

// By value, or from device memory so that a captured graph replays with new numbers.
FFPA_DEVICE PhiloxKey philox_key(const ForwardParams& params) {
  PhiloxKey key = {params.philox_seed, params.philox_offset};
  if (params.philox_state) {
    key.seed = params.philox_state[0];
    key.offset = params.philox_state[1];
  }
  return key;
}

struct PhiloxBlock {
  unsigned word[4];
};

FFPA_DEVICE void philox_round(PhiloxBlock& counter, const unsigned (&key)[2]) {
  const unsigned long long product0 = 0xD2511F53ull * counter.word[0];
  const unsigned long long product1 = 0xCD9E8D57ull * counter.word[2];
  counter.word[0] = (unsigned)(product1 >> 32) ^ counter.word[1] ^ key[0];
  counter.word[1] = (unsigned)product1;
  counter.word[2] = (unsigned)(product0 >> 32) ^ counter.word[3] ^ key[1];
  counter.word[3] = (unsigned)product0;
}

// The block with counter {block, 0, 0}: the words of elements 4 block to 4 block + 3.
FFPA_DEVICE PhiloxBlock philox_block(unsigned long long seed, unsigned long long block) {
  PhiloxBlock counter = {(unsigned)block, (unsigned)(block >> 32), 0u, 0u};
  unsigned key[2] = {(unsigned)seed, (unsigned)(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    philox_round(counter, key);
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// Word `element & 3` of block `element >> 2`.
FFPA_DEVICE unsigned philox_word(unsigned long long seed, unsigned long long element) {
  const PhiloxBlock block = philox_block(seed, element >> 2);
  const unsigned low_pair = element & 1 ? block.word[1] : block.word[0];
  const unsigned high_pair = element & 1 ? block.word[3] : block.word[2];
  return element & 2 ? high_pair : low_pair;
}

// The number lies in (0, 1]: the word is rounded to float first, as curand does.
FFPA_DEVICE bool word_keeps(unsigned word, float p) {
  const float uniform = ((float)word + 1.0f) * 2.3283064365386963e-10f;
  return uniform > p;
}

// The lowest word that is kept: word_keeps() grows with the word, so that this is all there is to compare with.
FFPA_DEVICE unsigned first_kept_word(float p) {
  unsigned first = 0, last = 0xffffffffu;  // which every p below 1 keeps
  while (first < last) {
    const unsigned middle = first + (last - first) / 2;
    if (word_keeps(middle, p)) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

FFPA_DEVICE bool dropout_keeps(unsigned long long seed, unsigned long long element, float p) {
  return word_keeps(philox_word(seed, element), p);
}

// Element of row (batch, head, q) at key 0, the offset included: keys follow one by one.
FFPA_DEVICE unsigned long long dropout_row(const ForwardParams& params, const PhiloxKey& key, int batch, int head,
                                           int q) {
  const unsigned long long row =
      ((unsigned long long)batch * (unsigned)params.heads_q + (unsigned)head) * (unsigned)params.seqlen_q + (unsigned)q;
  return key.offset + row * (unsigned)params.seqlen_k;
}
