// Masks and biases of cuda/wgmma_rows.cu.j2 on their way to the scores: a warp for each consumer, of the warpgroup that loads,
// brings what the consumer's 64 rows are told about a tile's keys into a slot of shared memory, before the consumer gets there.
// It does so by TMA where the tensor allows it, and else copies: slowly.
//% set mask_rows = 64 if mask_by_row else 1
//% set bias_rows = 64 if bias_by_row else 1

// How a tile of Value, of kRows rows, or of one that stands for all 64, lies in a slot: in boxes of at most 128 bytes a row where
// rows are that long, under the swizzle of a box's width, if there is one.
template <typename Value, int kRows>
struct MarkTile {
  static constexpr int kRowBytes = kBlockN * (int)sizeof(Value);
  static constexpr int kWidth = kRows > 1 && kRowBytes % 128 == 0 ? 128 : kRowBytes;
  static constexpr unsigned kSwizzle = kRows == 1 ? 0 : kWidth == 128 ? 7 : kWidth == 64 ? 3 : kWidth == 32 ? 1 : 0;
  static constexpr int kBoxBytes = kRows * kWidth;
  static constexpr int kBytes = kRows * kRowBytes;
  static constexpr int kSlotBytes = (kBytes + 1023) / 1024 * 1024;

  static FFPA_DEVICE unsigned address(unsigned tile, int row, int byte) {
    const unsigned in_row = (unsigned)(byte % kWidth) ^ ((unsigned)(row * kWidth) >> 7 & kSwizzle) << 4;
    return tile + byte / kWidth * kBoxBytes + row * kWidth + in_row;
  }
  // Of the lane's scores in row_of(0) of column_of(0) and the next; then, from there, of row_of(h) and column_of(i).
  static FFPA_DEVICE unsigned lane_address(unsigned tile) {
    return address(tile, kRows == 1 ? 0 : warp() * 16 + lane() / 4, lane() % 4 * 2 * (int)sizeof(Value));
  }
  static FFPA_DEVICE unsigned pair_address(unsigned lane_address, int h, int i) {
    const int byte = 8 * i * (int)sizeof(Value);
    const int in_row = byte % kWidth;
    const unsigned turned = kSwizzle > 0 ? (lane_address ^ (unsigned)(in_row & 0x70)) + (in_row & 15) : lane_address + in_row;
    return turned + byte / kWidth * kBoxBytes + (kRows == 1 ? 0 : h * 8 * kWidth);
  }
};
//% if mask
typedef MarkTile<unsigned char, {{ mask_rows }}> MaskTile;
//% endif
//% if bias
typedef MarkTile<BiasElement, {{ bias_rows }}> BiasTile;
//% endif

constexpr int kMarkStages = {{ mark_stages }};
constexpr int kBiasBegin = {{ "MaskTile::kSlotBytes" if mask else "0" }};
constexpr int kMarkBytes = kBiasBegin + {{ "BiasTile::kSlotBytes" if bias else "0" }};  // of a consumer's slot
typedef Place<kMarkStages> MarkPlace;

FFPA_DEVICE unsigned mark_full(unsigned smem, int consumer, const MarkPlace& place) {
  return barrier_at(smem, kMarkBarriers + consumer * kMarkStages + place.slot);
}
FFPA_DEVICE unsigned mark_empty(unsigned smem, int consumer, const MarkPlace& place) {
  return barrier_at(smem, kMarkBarriers + (kConsumers + consumer) * kMarkStages + place.slot);
}
FFPA_DEVICE unsigned mark_slot(unsigned smem, int consumer, const MarkPlace& place) {
  return smem + kMarksBegin + (consumer * kMarkStages + place.slot) * kMarkBytes;
}

// Four bytes at a time, while the warp goes on. Keys and rows past the last are zeros.
template <typename Value, int kRows>
FFPA_DEVICE void copy_words(unsigned to, const Mask<Value>& from, const Tile& tile, int row_begin, int kv) {
  constexpr int kOfRow = kBlockN * (int)sizeof(Value) / 4;
  // Found out here, each time: the warp has few registers for what the compiler would prepare ahead.
#pragma unroll 4
  for (int i = (int)opaque(threadIdx.x % 32); i < kRows * kOfRow; i += 32) {
    const int row = i / kOfRow, byte = i % kOfRow * 4;
    const int left = (tile.seqlen_k - kv) * (int)sizeof(Value) - byte;
    const unsigned counts = left < 0 ? 0 : left < 4 ? left : 4;
    const Value* source = from.at(query_of(tile, row_begin + row), kv + (counts > 0 ? byte / (int)sizeof(Value) : 0));
    cp_async_ca_4(MarkTile<Value, kRows>::address(to, row, byte), source, counts);
  }
}

// Through registers, two keys at a time. Keys past the last one are read as that one.
template <typename Value, int kRows>
FFPA_DEVICE void copy_pairs(unsigned to, const Mask<Value>& from, const Tile& tile, int row_begin, int kv) {
  constexpr int kAtOnce = kRows * kBlockN % 512 == 0 ? 8 : 1;
  constexpr int kPairs = kBlockN / 2;
  const int last = tile.seqlen_k - 1 - kv;
#pragma unroll 1
  for (int i = (int)opaque(threadIdx.x % 32); i < kRows * kPairs; i += 32 * kAtOnce) {
    unsigned pair[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int key = (i + 32 * k) % kPairs * 2;
      const Value* row = from.at(query_of(tile, row_begin + (i + 32 * k) / kPairs), kv);
      pair[k] = row[(key < last ? key : last) * from.stride_key] | (unsigned)row[(key + 1 < last ? key + 1 : last) * from.stride_key] << (8 * sizeof(Value));
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const unsigned address = MarkTile<Value, kRows>::address(to, (i + 32 * k) / kPairs, (i + 32 * k) % kPairs * 2 * (int)sizeof(Value));
      if constexpr (sizeof(Value) == 1) {
        st_shared_u16(address, (unsigned short)pair[k]);
      } else {
        st_shared_u32(address, pair[k]);
      }
    }
  }
}

template <typename Value, int kRows>
FFPA_DEVICE void copy_marks(unsigned to, const Mask<Value>& from, const Tile& tile, int row_begin, int kv) {
  if (sizeof(Value) == 4 || from.aligned(4)) {
    copy_words<Value, kRows>(to, from, tile, row_begin, kv);
  } else if constexpr (sizeof(Value) < 4) {
    copy_pairs<Value, kRows>(to, from, tile, row_begin, kv);
  }
}

template <typename Value, int kRows>
FFPA_DEVICE void load_marks(unsigned to, const TensorMap& map, const Mask<Value>& from, const Tile& tile, unsigned barrier, int row_begin, int kv) {
  typedef MarkTile<Value, kRows> Layout;
#pragma unroll
  for (int box = 0; box < Layout::kBytes / Layout::kBoxBytes; ++box) {
    tma_load_4d(to + box * Layout::kBoxBytes, map, barrier, kv + box * (Layout::kWidth / (int)sizeof(Value)),
                kRows == 1 ? 0 : tile.row_begin + row_begin, from.stride_head != 0 ? tile.head : 0, from.stride_batch != 0 ? tile.batch : 0);
  }
}

// For consumer `of`, all of the block's items, as consume() does them.
FFPA_DEVICE void produce_marks(const Arguments& arguments, unsigned smem, int of) {
  const ForwardParams& params = arguments.params;
  MarkPlace place(0);
#pragma unroll 1
  for (unsigned count = 0;; ++count) {
    await_item(smem, count);
    const Tile tile = item_at(smem, count);
    __syncwarp();
    mbarrier_arrive_if(item_empty(smem, ItemPlace(count)), lane() == 0);
    if (is_none(tile)) break;
    if (is_empty(tile)) continue;
#pragma unroll 1
    for (int j = tile.kv_last - 1; j >= tile.kv_first; --j) {
      const unsigned slot = mark_slot(smem, of, place);
      const unsigned full = mark_full(smem, of, place);
      const int kv = first_key(tile, j);
      unsigned bytes = 0;
      mbarrier_wait(mark_empty(smem, of, place), place.parity ^ 1);
//% if mask
      const Mask<unsigned char> mask = boolean_mask(params, tile);
      const bool loads_mask = mask.is_for_tma(params.mask, {{ "true" if mask_by_row else "false" }});
      if (loads_mask) {
        bytes += MaskTile::kBytes;
      } else {
        copy_marks<unsigned char, {{ mask_rows }}>(slot, mask, tile, of * 64, kv);
      }
//% endif
//% if bias
      const Mask<BiasElement> bias = additive_mask(params, tile);
      const bool loads_bias = bias.is_for_tma(params.bias, {{ "true" if bias_by_row else "false" }});
      if (loads_bias) {
        bytes += BiasTile::kBytes;
      } else {
        copy_marks<BiasElement, {{ bias_rows }}>(slot + kBiasBegin, bias, tile, of * 64, kv);
      }
//% endif
      cp_async_wait_all();
      __syncwarp();
      if (lane() == 0) {
        mbarrier_arrive_expect_tx(full, bytes);
//% if mask
        if (loads_mask) load_marks<unsigned char, {{ mask_rows }}>(slot, arguments.mask, mask, tile, full, of * 64, kv);
//% endif
//% if bias
        if (loads_bias) load_marks<BiasElement, {{ bias_rows }}>(slot + kBiasBegin, arguments.bias, bias, tile, full, of * 64, kv);
//% endif
      }
      place.advance();
    }
  }
}

// A consumer's side.
struct Marks {
  unsigned smem;
  MarkPlace place;

  FFPA_DEVICE void wait() const { mbarrier_wait(mark_full(smem, consumer(), place), place.parity); }
  // By all lanes of a warp, when each has read.
  FFPA_DEVICE void release() {
    __syncwarp();
    mbarrier_arrive_if(mark_empty(smem, consumer(), place), lane() == 0);
    place.advance();
  }
  // What the lane reads begins there; then, what the mask and the bias say of its scores in row_of(h), of column_of(i) and the next.
//% if mask
  FFPA_DEVICE unsigned mask_address() const { return MaskTile::lane_address(mark_slot(smem, consumer(), place)); }
  static FFPA_DEVICE unsigned mask_of(unsigned mask_address, int h, int i) { return ld_shared_u16(MaskTile::pair_address(mask_address, h, i)); }
//% endif
//% if bias
  FFPA_DEVICE unsigned bias_address() const { return BiasTile::lane_address(mark_slot(smem, consumer(), place) + kBiasBegin); }
  static FFPA_DEVICE Floats2 bias_of(unsigned bias_address, int h, int i) {
//% if bias == "fp32"
    return ld_shared_v2_f32(BiasTile::pair_address(bias_address, h, i));
//% else
    const unsigned pair = ld_shared_u32(BiasTile::pair_address(bias_address, h, i));
    return { {to_float((Element)pair), to_float((Element)(pair >> 16))}};
//% endif
  }
//% endif
};
