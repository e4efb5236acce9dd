// Masks of cuda/mma_forward.cu.j2: which scores of a tile hide, what a bias adds.
//% set scaled_with_bias = bias and not (softcap or modifier)

// Whether some row of the tile does not see some key of [kv, kv + kBlockN).
FFPA_DEVICE bool is_partial(const ForwardParams& params, const Tile& tile, int kv) {
//% if mask or bias
  return true;
//% else
//% if not (window_left or window_right or packed)
  return kv + kBlockN > tile.seqlen_k;
//% else
  const int end = tile.full_end < tile.kv_end ? tile.full_end : tile.kv_end;
  return kv < tile.full_begin || kv + kBlockN > end;
//% endif
//% endif
}

//% if mask or bias
// What a mask holds for the lane's scores of one row, packed: groups of keys one after the other.
constexpr int kMaskGroup = kFours ? 4 : 2;
constexpr int kMaskGroups = 2 * kSTiles / kMaskGroup;

template <typename Value>
struct MaskRow {
  static constexpr int kWords = (kMaskGroup * sizeof(Value) + 3) / 4;
  unsigned word[kMaskGroups][kWords];

  // A whole group, aligned. As words: taken apart only when it is used, since that waits for it.
  FFPA_DEVICE void load(int g, const Value* from) {
    if constexpr (kMaskGroup * sizeof(Value) < 4) {
      word[g][0] = *(const unsigned short*)from;
    } else {
      struct alignas(4 * kWords) Words {
        unsigned word[kWords];
      };
      const Words words = *(const Words*)from;
#pragma unroll
      for (int w = 0; w < kWords; ++w) word[g][w] = words.word[w];
    }
  }
  FFPA_DEVICE void set(int g, int s, Value value) {
    constexpr int kOfWord = 4 / sizeof(Value);
    if constexpr (sizeof(Value) == 4) {
      word[g][s] = __builtin_bit_cast(unsigned, value);
    } else {
      const unsigned bits = (unsigned)value << s % kOfWord * (8 * sizeof(Value));
      word[g][s / kOfWord] = s % kOfWord == 0 ? bits : word[g][s / kOfWord] | bits;
    }
  }
  // Of element e of n-tile j of S.
  FFPA_DEVICE Value at(int j, int e) const {
    const int g = kFours ? j / 2 : j;
    const int s = kFours ? j % 2 * 2 + e : e;
    constexpr int kOfWord = 4 / sizeof(Value);
    if constexpr (sizeof(Value) == 4) {
      return __builtin_bit_cast(Value, word[g][s]);
    } else {
      return (Value)(word[g][s / kOfWord] >> s % kOfWord * (8 * sizeof(Value)));
    }
  }
};

template <typename Value>
struct MaskTile {
  MaskRow<Value> row[kMTiles][2];
};

// M-tiles whose masks are loaded before Q K^T, so that nothing waits for them after: as many as leave registers.
constexpr int kMaskWords =
    2 * kMaskGroups * (0{{ " + MaskRow<unsigned char>::kWords" if mask else "" }}{{ " + MaskRow<BiasElement>::kWords" if bias else "" }});
constexpr int kQueryRegisters = kQInRegisters ? kMTiles * kChunkD / 4 : 0;
constexpr int kFreeRegisters = {{ 168 if dropout or softcap or varlen or window_left or modifier else 180 }} -
                               4 * kMTiles * (kOTiles + kSTiles) - kQueryRegisters;
constexpr int kMostAhead = {{ 0 if bias == "fp32" else 16 }};
constexpr int kAheadRegisters = kFreeRegisters < 0 ? 0 : kFreeRegisters < kMostAhead ? kFreeRegisters : kMostAhead;
constexpr int kAhead = kAheadRegisters / kMaskWords < kMTiles ? kAheadRegisters / kMaskWords : kMTiles;

// A mask in global memory.
template <typename Value>
struct Mask {
  const Value* row0;  // of the tile's batch entry
  long long stride_head, stride_row, stride_key;
  int keys;      // a row has
  bool grouped;  // groups of keys lie together and aligned in every row, the last one whole

  FFPA_DEVICE const Value* row_at(const Tile& tile, int row, int key) const {
    const RowPlace place = place_of(tile, tile.row_begin + row);
    return row0 + place.head * stride_head + place.q * stride_row + key * stride_key;
  }

  // Of the lane's row (i, h). Keys past the last are read as some other.
  FFPA_DEVICE void load(MaskRow<Value>& to, const Tile& tile, int kv, int i, int h) const {
    const int last = keys - 1 - kv - first_key();
    const Value* row = row_at(tile, row_of(i, h), kv + first_key());
#pragma unroll
    for (int g = 0; g < kMaskGroups; ++g) {
      const int key = key_step(g * kMaskGroup / 2, 0);
      if (grouped) {
        to.load(g, row + (key <= last ? key : last - (kMaskGroup - 1)));
      } else {
#pragma unroll
        for (int s = 0; s < kMaskGroup; ++s) to.set(g, s, row[(key + s < last ? key + s : last) * stride_key]);
      }
    }
  }

  // Of the lane's rows in m-tiles [begin, end).
  FFPA_DEVICE void load_tiles(MaskTile<Value>& to, const Tile& tile, int kv, int begin, int end) const {
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
      if (i < begin || i >= end) continue;
#pragma unroll
      for (int h = 0; h < 2; ++h) load(to.row[i][h], tile, kv, i, h);
    }
  }

  // Asks for the rows of [kv, kv + kBlockN), so that they are near when load() reads them.
  FFPA_DEVICE void prefetch(const Tile& tile, int kv) const {
    if (stride_key != 1) return;
    constexpr int kLineKeys = 128 / sizeof(Value);
    constexpr int kLines = (kBlockN + kLineKeys - 1) / kLineKeys;
    for (int piece = (int)threadIdx.x; piece < kBlockM * kLines; piece += kThreads) {
      const int key = kv + piece % kLines * kLineKeys;
      if (key < keys) prefetch_global_l1(row_at(tile, piece / kLines, key));
    }
  }
};

template <typename Value>
FFPA_DEVICE Mask<Value> mask_at({{ "const ForwardParams& params, " if seqlens_k }}const void* tensor, const Tile& tile,
                                long long stride_batch, long long stride_head, long long stride_row,
                                long long stride_key) {
  const Value* row0 = (const Value*)tensor + tile.batch * stride_batch;
  const int keys = {{ "params" if seqlens_k else "tile" }}.seqlen_k;
  const bool grouped = stride_key == 1 && ((keys | stride_head | stride_row) & (kMaskGroup - 1)) == 0 &&
                       (unsigned long long)row0 % (kMaskGroup * sizeof(Value)) == 0;
  return {row0, stride_head, stride_row, stride_key, keys, grouped};
}

//% endif
//% if mask
FFPA_DEVICE Mask<unsigned char> boolean_mask(const ForwardParams& params, const Tile& tile) {
  return mask_at<unsigned char>({{ "params, " if seqlens_k }}params.mask, tile, params.mask_stride_batch, params.mask_stride_head,
                                params.mask_stride_row, params.mask_stride_key);
}

//% endif
//% if bias
FFPA_DEVICE Mask<BiasElement> additive_mask(const ForwardParams& params, const Tile& tile) {
  return mask_at<BiasElement>({{ "params, " if seqlens_k }}params.bias, tile, params.bias_stride_batch, params.bias_stride_head,
                              params.bias_stride_row, params.bias_stride_key);
}

//% endif
//% if masked
// What the tile's masks hold.
struct Masks {
//% if mask
  MaskTile<unsigned char> boolean;
//% endif
//% if bias
  MaskTile<BiasElement> additive;
//% endif

  FFPA_DEVICE void begin(const ForwardParams& params, const Tile& tile, int kv) {
//% for name, member in [("boolean_mask", "boolean")] * mask + [("additive_mask", "additive")] * (1 if bias else 0)
    {
      const auto mask = {{ name }}(params, tile);
      mask.load_tiles({{ member }}, tile, kv, 0, kAhead);
      if (kAhead < kMTiles) mask.prefetch(tile, kv);
    }
//% endfor
  }
  FFPA_DEVICE void load(const ForwardParams& params, const Tile& tile, int kv, int begin, int end) {
//% for name, member in [("boolean_mask", "boolean")] * mask + [("additive_mask", "additive")] * (1 if bias else 0)
    {{ name }}(params, tile).load_tiles({{ member }}, tile, kv, begin, end);
//% endfor
  }
};

//% endif
// -infinity where a row does not see a key, whatever Q K^T came out as.
FFPA_DEVICE void mask_scores(ScoreTile& scores, const ForwardParams& params, const Tile& tile,
                             int kv{{ ", Masks& masks" if masked else "" }}) {
  const unsigned index = ctaid_x();
  const int first = first_key();
//% if masked
  constexpr bool kRestAtOnce = kMaskWords * (kMTiles - kAhead) <= 16;
  if (kRestAtOnce) masks.load(params, tile, kv, kAhead, kMTiles);
//% endif
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
//% if masked
    if (!kRestAtOnce && i >= kAhead) masks.load(params, tile, kv, i, i + 1);
//% endif
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      // The block's index is read anew, so that nothing of this is kept in registers from tile to tile.
      const int row = tile.row_begin + row_of(i, h) + (int)(ctaid_x() - index);
      const RowPlace place = place_of(tile, row);
      KeyRange visible = keys_of_row(params, tile, place.q);
{{ "      if (visible.end > tile.kv_end) visible.end = tile.kv_end;" if packed }}
//% if window_left
      const int begin = visible.begin - kv - first;
//% endif
      const int end = visible.end - kv - first;  // as key_step() counts
#pragma unroll
      for (int j = 0; j < kSTiles; ++j) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& score = scores.value[i][j][2 * h + e];
          const int key = key_step(j, e);
          bool shown = key < end{{ " && key >= begin" if window_left else "" }};
//% if mask
          shown = shown && masks.boolean.row[i][h].at(j, e) != 0;
//% endif
//% if bias
          const float bias = {{ "" if bias == "fp32" else "to_float" }}(masks.additive.row[i][h].at(j, e));
          shown = shown && bias != -kInfinity;
          score = {{ "fma_rn(score, params.softmax_scale, bias)" if scaled_with_bias else "score + bias" }};
//% endif
          score = shown ? score : -kInfinity;
        }
      }
    }
  }
}
