// Masks and biases of cuda/wgmma_rows.cu.j2 on their way to the scores: a thread for each consumer, of the warpgroup that loads,
// brings by TMA what the consumer's 64 rows are told about a tile's keys into a slot of shared memory, before the consumer gets
// there.
//% set mask_rows = 64 if mask_by_row else 1
//% set bias_rows = 64 if bias_by_row else 1

// How a tile of Value, of kRows rows, or of one that stands for all 64, lies in a slot: in boxes of 128 bytes a row under a swizzle, or
// in one, where its width has a swizzle; otherwise with so much more of a row that eight rows that are read at once are in other banks.
template <typename Value, int kRows>
struct MarkTile {
  static constexpr int kRowBytes = kBlockN * (int)sizeof(Value);
  static constexpr bool kSwizzled = kRows > 1 && (kRowBytes % 128 == 0 || kRowBytes == 64 || kRowBytes == 32);
  static constexpr int kUnit = sizeof(Value) == 4 ? 32 : 16;
  static constexpr int kMore = kRows == 1 || kRowBytes / kUnit % 2 != 0 ? 0 : kUnit;
  static constexpr int kWidth = !kSwizzled ? kRowBytes + kMore : kRowBytes % 128 == 0 ? 128 : kRowBytes;
  static constexpr unsigned kSwizzle = kSwizzled ? kWidth / 16 - 1 : 0;
  static constexpr int kBoxBytes = kRows * kWidth;
  static constexpr int kBytes = kSwizzled ? kRows * kRowBytes : kBoxBytes;
  static constexpr int kSlotBytes = (kBytes + 1023) / 1024 * 1024;

  // Of the lane's scores in row_of(0) of column_of(0) and the next; then, from there, of row_of(h) and column_of(i).
  static FFPA_DEVICE unsigned lane_address(unsigned tile) {
    const unsigned row = kRows == 1 ? 0 : (unsigned)(warp() * 16 + lane() / 4) * kWidth;
    return tile + row + ((unsigned)(lane() % 4 * 2 * (int)sizeof(Value)) ^ (row >> 7 & kSwizzle) << 4);
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

template <typename Layout, typename Value>
FFPA_DEVICE void load_marks(unsigned to, const TensorMap& map, const Mask<Value>& from, const Tile& tile, unsigned barrier, int row, int kv) {
#pragma unroll
  for (int box = 0; box < Layout::kBytes / Layout::kBoxBytes; ++box) {
    tma_load_4d(to + box * Layout::kBoxBytes, map, barrier, kv + box * (Layout::kWidth / (int)sizeof(Value)), row,
                from.stride_head != 0 ? tile.head : 0, from.stride_batch != 0 ? tile.batch : 0);
  }
}

// By one thread, for consumer `of`: all of the block's items, as consume() does them.
FFPA_DEVICE void produce_marks(const Arguments& arguments, unsigned smem, int of) {
  const ForwardParams& params = arguments.params;
  MarkPlace place(0);
#pragma unroll 1
  for (unsigned count = 0;; ++count) {
    await_item(smem, count);
    const Tile tile = item_at(smem, count);
    mbarrier_arrive(item_empty(smem, ItemPlace(count)));
    if (is_none(tile)) break;
    if (is_empty(tile)) continue;
#pragma unroll 1
    for (int j = tile.kv_last - 1; j >= tile.kv_first; --j) {
      const unsigned slot = mark_slot(smem, of, place);
      const unsigned full = mark_full(smem, of, place);
      mbarrier_wait(mark_empty(smem, of, place), place.parity ^ 1);
      mbarrier_arrive_expect_tx(full, {{ "MaskTile::kBytes" if mask }}{{ " + " if mask and bias }}{{ "BiasTile::kBytes" if bias }});
//% if mask
      load_marks<MaskTile>(slot, arguments.mask, boolean_mask(params, tile), tile, full, {{ "tile.row_begin + of * 64" if mask_by_row else "0" }}, first_key(tile, j));
//% endif
//% if bias
      load_marks<BiasTile>(slot + kBiasBegin, arguments.bias, additive_mask(params, tile), tile, full, {{ "tile.row_begin + of * 64" if bias_by_row else "0" }}, first_key(tile, j));
//% endif
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
