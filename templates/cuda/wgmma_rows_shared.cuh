// Shared memory of cuda/wgmma_rows.cu.j2 and how it is filled. src/plan/families/wgmma_rows.cpp adds up the same bytes.
//
// A tile is stored in blocks of 64 columns, 128 bytes a row under the 128-byte swizzle, one TMA box each; columns past the
// head dim and rows past the tensor's end are zeros. Order: Q of each consumer, K slots, V slots, barriers.

constexpr int kKBlocks = (kHeadDim + 63) / 64;
constexpr int kVBlocks = (kHeadDimV + 63) / 64;
constexpr int kQBytes = kKBlocks * 64 * 128;  // of a consumer
constexpr int kKBytes = kKBlocks * kBlockN * 128;
constexpr int kVBytes = kVBlocks * kBlockN * 128;
constexpr int kKBegin = kConsumers * kQBytes;
constexpr int kVBegin = kKBegin + kKStages * kKBytes;
constexpr int kBarriersBegin = kVBegin + kVStages * kVBytes;

// A thread's place in a ring.
template <int kStages>
struct Ring {
  int slot = 0;
  unsigned parity = 0;  // of the slot's phase

  FFPA_DEVICE void advance() {
    if (++slot == kStages) {
      slot = 0;
      parity ^= 1;
    }
  }
  // The warp has read the slot whose barrier this is.
  FFPA_DEVICE void release(unsigned empty) {
    mbarrier_arrive_if(empty, lane() == 0);
    advance();
  }
};

FFPA_DEVICE unsigned q_full(unsigned smem, int consumer) { return smem + kBarriersBegin + 8 * consumer; }
FFPA_DEVICE unsigned k_full(unsigned smem, const Ring<kKStages>& ring) {
  return smem + kBarriersBegin + 8 * (kConsumers + ring.slot);
}
FFPA_DEVICE unsigned k_empty(unsigned smem, const Ring<kKStages>& ring) {
  return smem + kBarriersBegin + 8 * (kConsumers + kKStages + ring.slot);
}
FFPA_DEVICE unsigned v_full(unsigned smem, const Ring<kVStages>& ring) {
  return smem + kBarriersBegin + 8 * (kConsumers + 2 * kKStages + ring.slot);
}
FFPA_DEVICE unsigned v_empty(unsigned smem, const Ring<kVStages>& ring) {
  return smem + kBarriersBegin + 8 * (kConsumers + 2 * kKStages + kVStages + ring.slot);
}

FFPA_DEVICE void init_barriers(unsigned smem) {
  constexpr int kWarps = 4 * kConsumers;
  unsigned barrier = smem + kBarriersBegin;
#pragma unroll 1
  for (int i = 0; i < kConsumers + 2 * kKStages + 2 * kVStages; ++i, barrier += 8) {
    const bool empty = (i >= kConsumers + kKStages && i < kConsumers + 2 * kKStages) || i >= kConsumers + 2 * kKStages + kVStages;
    mbarrier_init(barrier, empty ? kWarps : 1);
  }
  fence_mbarrier_init();
}

// One box of 64 columns: 4-D maps [batch][head][row][column]; varlen [1][head][packed row][column].
template <int kBlocks>
FFPA_DEVICE void load_rows(unsigned to, int block_bytes, const TensorMap& map, unsigned barrier, long long row, int head, int batch) {
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) tma_load_4d(to + i * block_bytes, map, barrier, i * 64, (int)row, head, {{ "0" if varlen else "batch" }});
}

FFPA_DEVICE void load_q(const Arguments& arguments, const Tile& tile, unsigned smem, int consumer) {
  const unsigned full = q_full(smem, consumer);
  mbarrier_arrive_expect_tx(full, kQBytes);
  load_rows<kKBlocks>(smem + consumer * kQBytes, 64 * 128, arguments.q, full, tile.q_row + tile.row_begin + consumer * 64, tile.head, tile.batch);
}

FFPA_DEVICE void load_k(const Arguments& arguments, const Tile& tile, unsigned smem, Ring<kKStages>& ring, int j) {
  mbarrier_wait(k_empty(smem, ring), ring.parity ^ 1);
  const unsigned full = k_full(smem, ring);
  mbarrier_arrive_expect_tx(full, kKBytes);
  load_rows<kKBlocks>(smem + kKBegin + ring.slot * kKBytes, kBlockN * 128, arguments.k, full, tile.k_row + first_key(tile, j), tile.kv_head,
                      tile.batch);
  ring.advance();
}

FFPA_DEVICE void load_v(const Arguments& arguments, const Tile& tile, unsigned smem, Ring<kVStages>& ring, int j) {
  mbarrier_wait(v_empty(smem, ring), ring.parity ^ 1);
  const unsigned full = v_full(smem, ring);
  mbarrier_arrive_expect_tx(full, kVBytes);
  load_rows<kVBlocks>(smem + kVBegin + ring.slot * kVBytes, kBlockN * 128, arguments.v, full, tile.k_row + first_key(tile, j), tile.kv_head,
                      tile.batch);
  ring.advance();
}
