// Shared memory of cuda/wgmma_rows.cu.j2 and how it is filled. src/plan/families/wgmma_rows_tiles.cpp adds up the same bytes.
//
// A tile is stored in blocks of 64 columns, 128 bytes a row under the 128-byte swizzle, one TMA box each; columns past the
// head dim and rows past the tensor's end are zeros. Order: Q of each consumer, K slots, V slots, slots of masks and biases (see
// cuda/wgmma_rows_marks.cuh) or O where it is staged, barriers, what is to be known of two items.

constexpr int kKBlocks = (kHeadDim + 63) / 64;
constexpr int kVBlocks = (kHeadDimV + 63) / 64;
constexpr int kQBytes = kKBlocks * 64 * 128;  // of a consumer
constexpr int kKBytes = kKBlocks * kBlockN * 128;
constexpr int kVBytes = kVBlocks * kBlockN * 128;
constexpr int kKBegin = kConsumers * kQBytes;
constexpr int kVBegin = kKBegin + kKStages * kKBytes;
//% if masked
constexpr int kMarksBegin = kVBegin + kVStages * kVBytes;
constexpr int kBarriersBegin = kMarksBegin + {{ mark_bytes }};
//% elif staged
constexpr int kOPitch = (kHeadDimV + 15) / 16 * 32 + 16;  // an odd multiple of 16, for the banks
constexpr int kOBegin = kVBegin + kVStages * kVBytes;
constexpr int kBarriersBegin = kOBegin + kBlockM * kOPitch;
//% else
constexpr int kBarriersBegin = kVBegin + kVStages * kVBytes;
//% endif

// Place `count` of a ring of kStages slots, and the parity of its slot's phase.
template <int kStages>
struct Place {
  unsigned slot, parity;

  FFPA_DEVICE explicit Place(unsigned count) : slot(count % kStages), parity(count / kStages & 1) {}
  FFPA_DEVICE void advance() {
    if (++slot == kStages) {
      slot = 0;
      parity ^= 1;
    }
  }
};
// By all lanes of a warp: from there on stepped in registers that the warp has once, as descriptors are.
template <int kStages>
FFPA_DEVICE Place<kStages> uniform(Place<kStages> place) {
  place.slot = uniform(place.slot);
  place.parity = uniform(place.parity);
  return place;
}
typedef Place<kKStages> KPlace;
typedef Place<kVStages> VPlace;
typedef Place<2> ItemPlace;

// Barriers: full and empty of each consumer's Q, of the slots of K, of V, and of the two items.
constexpr int kQBarriers = 0;
constexpr int kKBarriers = 2 * kConsumers;
constexpr int kVBarriers = kKBarriers + 2 * kKStages;
constexpr int kItemBarriers = kVBarriers + 2 * kVStages;
{{ "constexpr int kMarkBarriers = kItemBarriers + 4" if masked else "" }}{{ ";" if masked else "" }}
constexpr int kBarriers = kItemBarriers + 4{{ " + 2 * kConsumers * " ~ mark_stages if masked else "" }}{{ " + 1" if deals else "" }};
constexpr int kItemsBegin = kBarriersBegin + 8 * kBarriers;
constexpr int kItemBytes = 128;

FFPA_DEVICE unsigned barrier_at(unsigned smem, int index) { return smem + kBarriersBegin + 8 * index; }
FFPA_DEVICE unsigned q_full(unsigned smem, int consumer) { return barrier_at(smem, kQBarriers + consumer); }
FFPA_DEVICE unsigned q_empty(unsigned smem, int consumer) { return barrier_at(smem, kQBarriers + kConsumers + consumer); }
FFPA_DEVICE unsigned k_full(unsigned smem, const KPlace& place) { return barrier_at(smem, kKBarriers + place.slot); }
FFPA_DEVICE unsigned k_empty(unsigned smem, const KPlace& place) { return barrier_at(smem, kKBarriers + kKStages + place.slot); }
FFPA_DEVICE unsigned v_full(unsigned smem, const VPlace& place) { return barrier_at(smem, kVBarriers + place.slot); }
FFPA_DEVICE unsigned v_empty(unsigned smem, const VPlace& place) { return barrier_at(smem, kVBarriers + kVStages + place.slot); }
FFPA_DEVICE unsigned item_full(unsigned smem, const ItemPlace& place) { return barrier_at(smem, kItemBarriers + place.slot); }
FFPA_DEVICE unsigned item_empty(unsigned smem, const ItemPlace& place) { return barrier_at(smem, kItemBarriers + 2 + place.slot); }
//% if deals
FFPA_DEVICE unsigned items_loaded(unsigned smem) { return barrier_at(smem, kItemBarriers + 4); }
//% endif
FFPA_DEVICE unsigned item_words(unsigned smem, const ItemPlace& place) { return smem + kItemsBegin + kItemBytes * place.slot; }

// `count` barriers for what becomes full, by so many arrivals, then as many for what has been read, by so many warps.
FFPA_DEVICE void init_pairs(unsigned smem, int first, int arrivals, int count, int warps) {
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    mbarrier_init(barrier_at(smem, first + i), arrivals);
    mbarrier_init(barrier_at(smem, first + count + i), warps);
  }
}

FFPA_DEVICE void init_barriers(unsigned smem) {
  init_pairs(smem, kQBarriers, 1, kConsumers, 4);
  init_pairs(smem, kKBarriers, 1, kKStages, 4 * kConsumers);
  init_pairs(smem, kVBarriers, 1, kVStages, 4 * kConsumers);
  init_pairs(smem, kItemBarriers, 1, 2, 4 * kConsumers{{ " + kConsumers" if masked else "" }});
//% if masked
  init_pairs(smem, kMarkBarriers, 1, kConsumers * {{ mark_stages }}, 4);
//% endif
//% if deals
  mbarrier_init(items_loaded(smem), 1);
//% endif
  fence_mbarrier_init();
}

// One box of 64 columns, of Q of kHeadsPacked heads: 4-D maps [batch][head][row][column]; varlen [1][head][packed row][column].
template <int kBlocks>
FFPA_DEVICE void load_rows(unsigned to, int block_bytes, const TensorMap& map, unsigned barrier, long long row, int head, int batch) {
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) tma_load_4d(to + i * block_bytes, map, barrier, i * 64, (int)row, head, {{ "0" if varlen else "batch" }});
}

// `count`: of items before. Q is handed over empty for an item without keys.
FFPA_DEVICE void load_q(const Arguments& arguments, const Tile& tile, unsigned smem, int consumer, unsigned count, bool loads) {
  mbarrier_wait(q_empty(smem, consumer), count & 1 ^ 1);
  const unsigned full = q_full(smem, consumer);
  if (!loads) {
    mbarrier_arrive(full);
    return;
  }
  mbarrier_arrive_expect_tx(full, kQBytes);
  load_rows<kKBlocks>(smem + consumer * kQBytes, 64 * 128, arguments.q, full, tile.q_row + tile.row_begin + consumer * kPositions, tile.head,
                      tile.batch);
}

FFPA_DEVICE void load_k(const Arguments& arguments, const Tile& tile, unsigned smem, const KPlace& place, int j) {
  mbarrier_wait(k_empty(smem, place), place.parity ^ 1);
  const unsigned full = k_full(smem, place);
  mbarrier_arrive_expect_tx(full, kKBytes);
  load_rows<kKBlocks>(smem + kKBegin + place.slot * kKBytes, kBlockN * 128, arguments.k, full, tile.k_row + first_key(tile, j), tile.kv_head,
                      tile.batch);
}

FFPA_DEVICE void load_v(const Arguments& arguments, const Tile& tile, unsigned smem, const VPlace& place, int j) {
  mbarrier_wait(v_empty(smem, place), place.parity ^ 1);
  const unsigned full = v_full(smem, place);
  mbarrier_arrive_expect_tx(full, kVBytes);
  load_rows<kVBlocks>(smem + kVBegin + place.slot * kVBytes, kBlockN * 128, arguments.v, full, tile.k_row + first_key(tile, j), tile.kv_head,
                      tile.batch);
}
