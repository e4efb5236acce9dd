// Masks and biases of cuda/wgmma_columns.cu.j2 on their way to the scores: a thread for each consumer, of the warpgroup that loads,
// brings by TMA what the rows are told about a quarter of the consumer's keys of a tile into one of kMarkStages slots of shared
// memory, which lie behind the rings.

constexpr int kMarkStages = 2;
constexpr int kQuarter = kKeys / 4;

// How a quarter tile of Value lies in a slot: a row's keys together, under the swizzle of their width. Rows, or heads, that are told the
// same have one row.
template <typename Value, bool kByRow, bool kByHead>
struct MarkTile {
  static constexpr int kRowsOfHead = kByRow ? kBlockQ : 1;
  static constexpr int kRows = kRowsOfHead * (kByHead ? kHeadsPacked : 1);
  static constexpr int kWidth = kQuarter * (int)sizeof(Value);
  static constexpr int kBytes = kRows * kWidth;
  static constexpr int kSlotBytes = (kBytes + 1023) / 1024 * 1024;
  static_assert(kWidth == 32 || kWidth == 64 || kWidth == 128);

  // Of n-tile i of the quarter, of the pair of lane `lane`.
  static FFPA_DEVICE unsigned pair_address(unsigned tile, int row, int i, int lane) {
    const int in_slot = (kByHead ? row / kBlockQ * kRowsOfHead : 0) + (kByRow ? row % kBlockQ : 0);
    const unsigned from = (unsigned)in_slot * kWidth;
    const unsigned in_row = (unsigned)((8 * i + lane % 4 * 2) * (int)sizeof(Value));
    return tile + from + (in_row ^ (from >> 7 & (kWidth / 16 - 1)) << 4);
  }
};
//% if mask
typedef MarkTile<unsigned char, {{ "true" if mask_by_row else "false" }}, {{ "true" if mask_by_head else "false" }}> MaskTile;
//% endif
//% if bias
typedef MarkTile<BiasElement, {{ "true" if bias_by_row else "false" }}, {{ "true" if bias_by_head else "false" }}> BiasTile;
//% endif
constexpr int kBiasBegin = {{ "MaskTile::kSlotBytes" if mask else "0" }};
constexpr int kMarkBytes = kBiasBegin + {{ "BiasTile::kSlotBytes" if bias else "0" }};  // of a slot
constexpr int kMarksBegin = kRingBegin + 2 * kRingBytes;

FFPA_DEVICE unsigned mark_slot(unsigned smem, int consumer, int stage) { return smem + kMarksBegin + (consumer * kMarkStages + stage) * kMarkBytes; }
FFPA_DEVICE unsigned mark_full(unsigned smem, int consumer, int stage) { return page_address(smem, consumer) + (kMarkBarriers + stage) * 8; }
FFPA_DEVICE unsigned mark_empty(unsigned smem, int consumer, int stage) { return mark_full(smem, consumer, stage) + kMarkStages * 8; }

FFPA_DEVICE void init_mark_barriers(unsigned smem) {
#pragma unroll 1
  for (int i = 0; i < 2 * kMarkStages; ++i) {
    mbarrier_init(mark_full(smem, i / kMarkStages, i % kMarkStages), 1);
    mbarrier_init(mark_empty(smem, i / kMarkStages, i % kMarkStages), 4);
  }
}

template <typename Value>
FFPA_DEVICE void load_marks(unsigned to, const TensorMap& map, const Mask<Value>& from, const Tile& tile, unsigned barrier, int row, int key) {
  tma_load_4d(to, map, barrier, key, row, from.stride_head != 0 ? tile.head : 0, from.stride_batch != 0 ? tile.batch : 0);
}

// By one thread, for consumer `of`.
FFPA_DEVICE void produce_marks(const Arguments& arguments, const Tile& tile, unsigned smem, int of) {
  int uses = 0;
#pragma unroll 1
  for (int kv = tile.kv_begin; kv < tile.kv_end; kv += kBlockN) {
#pragma unroll 1
    for (int quarter = 0; quarter < 4; ++quarter, ++uses) {
      const int stage = uses % kMarkStages;
      const int key = kv + of * kKeys + quarter * kQuarter;
      const unsigned full = mark_full(smem, of, stage);
      mbarrier_wait(mark_empty(smem, of, stage), uses / kMarkStages & 1 ^ 1);
      mbarrier_arrive_expect_tx(full, {{ "MaskTile::kBytes" if mask }}{{ " + " if mask and bias }}{{ "BiasTile::kBytes" if bias }});
//% if mask
      load_marks(mark_slot(smem, of, stage), arguments.mask, boolean_mask(arguments.params, tile), tile, full, {{ "tile.q_begin" if mask_by_row else "0" }}, key);
//% endif
//% if bias
      load_marks(mark_slot(smem, of, stage) + kBiasBegin, arguments.bias, additive_mask(arguments.params, tile), tile, full, {{ "tile.q_begin" if bias_by_row else "0" }}, key);
//% endif
    }
  }
}

// What a consumer's lane reads of quarter `quarter` of its keys.
struct QuarterMarks {
  unsigned smem;
  int quarter;

  FFPA_DEVICE void begin(unsigned smem_, int quarter_) {
    smem = smem_;
    quarter = quarter_;
    mbarrier_wait(mark_full(smem, consumer(), quarter % kMarkStages), quarter / kMarkStages & 1);
  }
  // By all lanes of a warp, when each has read.
  FFPA_DEVICE void end() const {
    __syncwarp();
    mbarrier_arrive_if(mark_empty(smem, consumer(), quarter % kMarkStages), lane() == 0);
  }
  FFPA_DEVICE unsigned slot(int thread) const { return mark_slot(smem, consumer(thread), quarter % kMarkStages); }
//% if mask
  // Two bytes.
  FFPA_DEVICE unsigned mask_of(int row, int i, int thread) const { return ld_shared_u16(MaskTile::pair_address(slot(thread), row, i, lane(thread))); }
//% endif
//% if bias
  FFPA_DEVICE Floats2 bias_of(int row, int i, int thread) const {
//% if bias == "fp32"
    return ld_shared_v2_f32(BiasTile::pair_address(slot(thread) + kBiasBegin, row, i, lane(thread)));
//% else
    const unsigned pair = ld_shared_u32(BiasTile::pair_address(slot(thread) + kBiasBegin, row, i, lane(thread)));
    return { {to_float((Element)pair), to_float((Element)(pair >> 16))}};
//% endif
  }
//% endif
};
