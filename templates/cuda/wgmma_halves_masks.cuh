// Which scores of cuda/wgmma_halves.cu.j2 count, and what is added to them.

// One bit for each of the lane's scores of a row: bit 2 j + e of key_of(j) + e. Of the first `keys` keys from key_of(0) on.
FFPA_DEVICE unsigned bits_before(int keys) {
  const int even = keys + 7 < 0 ? 0 : (keys + 7) / 8;
  const int odd = keys + 6 < 0 ? 0 : (keys + 6) / 8;
  const unsigned evens = even >= kSTiles ? 0x55555555u : (1u << (2 * even)) - 1 & 0x55555555u;
  const unsigned odds = odd >= kSTiles ? 0xaaaaaaaau : (1u << (2 * odd)) - 1 & 0xaaaaaaaau;
  return evens | odds;
}
static_assert(2 * kSTiles <= 32);

//% if masked
// A mask in global memory.
template <typename Value>
struct Mask {
  const Value* row0;  // of the tile's batch entry
  long long stride_head, stride_row, stride_key;
  bool paired;  // pairs of an even number of keys lie together and aligned in every row

  FFPA_DEVICE const Value* row_at(const Tile& tile, int row, int key) const {
    const RowPlace place = place_of(tile, row);
    return row0 + place.head * stride_head + place.q * stride_row + key * stride_key;
  }

  // Pairs [first, first + kCount) of n-tiles of the lane's row of half h. Keys past the last are read as some other.
  template <int kCount>
  FFPA_DEVICE void load(Value (&to)[kCount][2], const Tile& tile, int kv, int h, int first) const {
    struct alignas(2 * sizeof(Value)) Pair {
      Value value[2];
    };
    const int last = tile.seqlen_k - 1 - kv - key_of(first);
    const Value* row = row_at(tile, row_of(h), kv + key_of(first));
    if (paired) {
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        const Pair pair = *(const Pair*)(row + (8 * j < last ? 8 * j : last - 1));
        to[j][0] = pair.value[0];
        to[j][1] = pair.value[1];
      }
    } else {
#pragma unroll
      for (int j = 0; j < 2 * kCount; ++j) {
        const int key = j / 2 * 8 + j % 2;
        to[j / 2][j % 2] = row[(key < last ? key : last) * stride_key];
      }
    }
  }
};

// Asks for the warp's rows of keys [key, key + kKeysAhead), so that they are near when load() reads them: L2, busy with K and V,
// takes longer to answer than a chunk's products run.
template <int kKeysAhead, typename Value>
FFPA_DEVICE void prefetch(const Mask<Value>& mask, const Tile& tile, int key) {
  static_assert(kKeysAhead * sizeof(Value) <= 128);
  // Each row lies in one line of L1 or in two.
  const int column = key + lane() / 16 * (kKeysAhead - 1);
  if (mask.stride_key == 1 && column < tile.seqlen_k) prefetch_global_l1(mask.row_at(tile, warp() * 16 + lane() % 16, column));
}

// Without keys, what is read is the start of Q: some number, for a score that is hidden.
template <typename Value>
FFPA_DEVICE Mask<Value> mask_at(const void* tensor, const ForwardParams& params, const Tile& tile, long long stride_batch,
                                long long stride_head, long long stride_row, long long stride_key) {
  if (tile.seqlen_k == 0) return {(const Value*)params.q, 0, 0, 0, false};
  const Value* row0 = (const Value*)tensor + tile.batch * stride_batch;
  const bool paired = stride_key == 1 && ((tile.seqlen_k | stride_head | stride_row) & 1) == 0 &&
                      (unsigned long long)row0 % (2 * sizeof(Value)) == 0;
  return {row0, stride_head, stride_row, stride_key, paired};
}
//% endif
//% if mask
FFPA_DEVICE Mask<unsigned char> boolean_mask(const ForwardParams& params, const Tile& tile) {
  return mask_at<unsigned char>(params.mask, params, tile, params.mask_stride_batch, params.mask_stride_head,
                                params.mask_stride_row, params.mask_stride_key);
}
//% endif
//% if bias
FFPA_DEVICE Mask<BiasElement> additive_mask(const ForwardParams& params, const Tile& tile) {
  return mask_at<BiasElement>(params.bias, params, tile, params.bias_stride_batch, params.bias_stride_head,
                              params.bias_stride_row, params.bias_stride_key);
}
//% endif

// What the boolean mask and dropout say about a tile's scores, found out while products run: a part between the issue of a
// chunk and its end, so that loads and arithmetic cost no time of the tensor cores.
struct Marks {
  static constexpr int kParts = kKChunks - 2;
  static constexpr int kOfPart = (kSTiles + kParts - 1) / kParts;  // n-tiles
//% if mask
  unsigned shown[2];
  unsigned char mask[2][kOfPart][2];
//% endif
//% if dropout
  unsigned kept[2];
  unsigned kept_from;  // the least word of Philox that is kept
//% endif

  FFPA_DEVICE void begin_part(const ForwardParams& params, const Tile& tile, int kv, int part) {
    if (part < 0) return;
//% if mask
    const int first = part * kOfPart < kSTiles - kOfPart ? part * kOfPart : kSTiles - kOfPart;
#pragma unroll
    for (int h = 0; h < 2; ++h) boolean_mask(params, tile).load(mask[h], tile, kv, h, first);
//% endif
//% if bias
    if (part == 0) prefetch<32>(additive_mask(params, tile), tile, kv + key_block() * kKeys);
    if (part == kParts - 1) prefetch<32>(additive_mask(params, tile), tile, kv + key_block() * kKeys + 32);
//% endif
  }

  FFPA_DEVICE void end_part(const ForwardParams& params, const Tile& tile, int kv, int part) {
    if (part < 0) return;
//% if mask
    const int first = part * kOfPart < kSTiles - kOfPart ? part * kOfPart : kSTiles - kOfPart;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      unsigned bits = 0;
#pragma unroll
      for (int j = 0; j < 2 * kOfPart; ++j) bits |= (unsigned)(mask[h][j / 2][j % 2] != 0) << j;
      shown[h] = (part == 0 ? 0 : shown[h]) | bits << (2 * first);
    }
    if (part == kParts - 1) prefetch<kKeys>(boolean_mask(params, tile), tile, kv + kBlockN + key_block() * kKeys);
//% endif
//% if dropout
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (part == 0) kept[h] = 0;
    }
#pragma unroll 1
    for (int j = part * 2; j < kSTiles; j += 2 * kParts) decide(kept, params, tile, kv, j);
//% endif
  }
//% if dropout

  // Which scores of n-tiles j and j + 1 are kept.
  FFPA_DEVICE void decide(unsigned (&bits)[2], const ForwardParams& params, const Tile& tile, int kv, int j) const {
    const PhiloxKey philox = philox_key(params);
    const bool aligned = ((philox.offset | (unsigned)params.seqlen_k) & 3) == 0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const RowPlace place = place_of(tile, row_of(h));
      const unsigned long long element = dropout_row(params, philox, tile.batch, place.head, place.q) + (unsigned)(kv + key_of(j));
      bits[h] |= kept_of_pair(philox.seed, element, kept_from, aligned) << (2 * j);
    }
  }
//% endif
};

//% if natural
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
// A quarter of the lane's biases.
struct Biases {
//% if bias
  BiasElement value[2][kSTiles / 4][2];
//% endif
};

FFPA_DEVICE Biases load_biases(const ForwardParams& params, const Tile& tile, int kv, int quarter) {
  Biases to;
//% if bias
  const Mask<BiasElement> bias = additive_mask(params, tile);
#pragma unroll
  for (int h = 0; h < 2; ++h) bias.load(to.value[h], tile, kv, h, quarter * (kSTiles / 4));
//% endif
  return to;
}

// Scale, softcap and modifier of one score, in this order: in natural units from here on.
FFPA_DEVICE float modified(float score, const ForwardParams& params, [[maybe_unused]] const Tile& tile,
                           [[maybe_unused]] const RowPlace& place, [[maybe_unused]] int key) {
  score *= params.softmax_scale;
//% if softcap
  score = params.softcap * tanh_of(score * (1.0f / params.softcap));
//% endif
//% if modifier
  score = modifier::modified(params, score, tile.batch, place.head, place.q, key, tile.seqlen_q, tile.seqlen_k);
//% endif
  return score;
}

// A quarter of the lane's scores, with their biases.
FFPA_DEVICE void modify_scores(ScoreTile& scores, const ForwardParams& params, const Tile& tile, int kv, int quarter) {
  [[maybe_unused]] const Biases biases = load_biases(params, tile, kv, quarter);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    [[maybe_unused]] const RowPlace place = place_of(tile, row_of(h));
#pragma unroll
    for (int i = 0; i < kSTiles / 4; ++i) {
      const int j = quarter * (kSTiles / 4) + i;
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores.value[4 * j + 2 * h + e];
        score = modified(score, params, tile, place, kv + key_of(j) + e);
//% if bias
        const float bias = {{ "" if bias == "fp32" else "to_float" }}(biases.value[h][i][e]);
        score = bias == -kInfinity ? -kInfinity : score + bias;
//% endif
      }
    }
  }
}

//% endif
// -infinity where a row does not see a key, whatever Q K^T came out as.
FFPA_DEVICE void hide_scores(ScoreTile& scores, const Marks& marks, const ForwardParams& params, const Tile& tile, int kv) {
//% if not mask
  if (!is_partial(tile, kv)) return;
//% endif
  const Tile here = tile_of(params, ctaid_x());  // computed anew, like what hangs on the thread: see thread_anew()
  const int thread = thread_anew();
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const KeyRange visible = keys_of_row(params, here, place_of(here, row_of(h, thread)).q);
    unsigned shown = bits_before(visible.end - kv - key_of(0, thread));
//% if window_left
    shown &= ~bits_before(visible.begin - kv - key_of(0, thread));
//% endif
//% if mask
    shown &= marks.shown[h];
//% endif
#pragma unroll
    for (int j = 0; j < kSTiles; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores.value[4 * j + 2 * h + e];
        score = shown >> (2 * j + e) & 1 ? score : -kInfinity;
      }
    }
  }
}
