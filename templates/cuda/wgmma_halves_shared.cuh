// Shared memory of cuda/wgmma_halves.cu.j2, the barriers of its rings, and the threads that load.
//
// From the start, each part at a multiple of 1024 bytes: the block's half of Q in blocks of 64 columns, [64 rows][128 bytes]
// under the 128-byte swizzle; P in blocks of 64 keys alike; for each consumer its ring of kStages slots; barriers; two buffers of a
// number for each row, [key block][row]. Two slots hold a chunk of K, [kProductKeys keys][kChunkD columns], or what the consumer's twin in
// the other block sends of S, [n-tile][thread][four scores]; one a chunk of V, [block of kVBlock columns][kChunkN keys].
// src/plan/families/wgmma_halves.cpp adds up the same bytes.

constexpr int kBlockBytes = kBlockM * 128;
constexpr int kQBlocks = (kHalfDim + 63) / 64;
constexpr int kColumnBlocks = (kColumns + kVBlock - 1) / kVBlock;
constexpr int kKChunkBytes = kProductKeys * kChunkD * 2;
constexpr int kVChunkBytes = kColumnBlocks * kChunkN * kVBlock * 2;
constexpr int kSlotBytes = kKChunkBytes / 2;
static_assert(kVChunkBytes <= kSlotBytes && kStages % 2 == 0 && kStages >= 6);
constexpr int kProbsBegin = kQBlocks * kBlockBytes;
constexpr int kPartialsBytes = kBlockM * kKeys * 4;  // of a consumer
static_assert(kPartialsBytes == 2 * kSlotBytes);
constexpr int kRingBegin = kProbsBegin + kBlockN / 64 * kBlockBytes;
constexpr int kRingBytes = kStages * kSlotBytes;
constexpr int kBarriersBegin = kRingBegin + 2 * kRingBytes;
constexpr int kRowsBegin = kBarriersBegin + 1024;
constexpr int kRowsBytes = 4 * kBlockM * 4;  // of a buffer
constexpr int kRingBarriers = 2 * kStages;
constexpr int kExchangeBarriers = 12;
static_assert((2 * kRingBarriers + kQBlocks + kExchangeBarriers) * 8 <= 1024);

FFPA_DEVICE unsigned ring_barriers(unsigned smem, int which) { return smem + kBarriersBegin + which * kRingBarriers * 8; }
FFPA_DEVICE unsigned q_barrier(unsigned smem, int block) { return ring_barriers(smem, 2) + block * 8; }
FFPA_DEVICE unsigned exchange_barriers(unsigned smem) { return q_barrier(smem, kQBlocks); }
// That the twin of consumer `which` lends a slot.
FFPA_DEVICE unsigned lent_barrier(unsigned smem, int which) { return exchange_barriers(smem) + which * 8; }

FFPA_DEVICE void init_exchange_barriers(unsigned barriers);

FFPA_DEVICE void init_barriers(unsigned smem) {
#pragma unroll 1
  for (int i = 0; i < kRingBarriers; ++i) {
    const unsigned arrivals = i < kStages ? 1 : 4;  // full, empty
    mbarrier_init(ring_barriers(smem, 0) + i * 8, arrivals);
    mbarrier_init(ring_barriers(smem, 1) + i * 8, arrivals);
  }
#pragma unroll 1
  for (int block = 0; block < kQBlocks; ++block) mbarrier_init(q_barrier(smem, block), 1);
  init_exchange_barriers(exchange_barriers(smem));
  fence_mbarrier_init();
}

// One warpgroup's ring, as its consumer and its producer see it. A slot is given back once the products that read it are
// complete, which is known when the next chunk's have been issued.
struct Ring {
  unsigned slots, barriers;  // of slot 0
  unsigned slot, parity;

  FFPA_DEVICE unsigned address() const { return slots + slot * kSlotBytes; }
  FFPA_DEVICE unsigned full_barrier() const { return barriers + slot * 8; }
  FFPA_DEVICE unsigned empty_barrier() const { return full_barrier() + kStages * 8; }
  FFPA_DEVICE void advance(unsigned slots_of_chunk = 1) {
    slot += slots_of_chunk;
    if (slot == kStages) {
      slot = 0;
      parity ^= 1;
    }
  }
  // Gives back `count` slots, 1 or 2, the first of them `back` before this one.
  FFPA_DEVICE void release(unsigned back, unsigned count) const {
    const unsigned which = slot < back ? slot + kStages - back : slot - back;
    const unsigned empty = barriers + (kStages + which) * 8;
    mbarrier_arrive_if(empty, lane() == 0);
    if (count > 1) mbarrier_arrive_if(empty + 8, lane() == 0);
  }
  // The newest chunk's products have been issued: all before are complete, and the slots of the last before are given back.
  FFPA_DEVICE void retire(unsigned back, unsigned count) const {
    wgmma_wait_group<1>();
    release(back, count);
  }
};

FFPA_DEVICE Ring ring_of(unsigned smem, int consumer) {
  return {smem + kRingBegin + consumer * kRingBytes, ring_barriers(smem, consumer), 0, 0};
}

// The thread that loads for one consumer, whose number is its warp's. It has few registers: what it can compute anew it does
// not keep.
//% set batch = "0" if varlen else "batch"
struct Producer {
  const Arguments& arguments;
  Ring ring;
  int kv_head, batch;

  FFPA_DEVICE unsigned begin_chunk(unsigned bytes, unsigned slots) {
    mbarrier_wait(ring.empty_barrier(), ring.parity ^ 1);
    if (slots > 1) {
      mbarrier_wait(ring.empty_barrier() + 8, ring.parity ^ 1);
      mbarrier_arrive(ring.full_barrier() + 8);  // nobody waits for it
    }
    mbarrier_arrive_expect_tx(ring.full_barrier(), bytes);
    return ring.full_barrier();
  }

  // Chunk `chunk` of the consumer's keys of the tile whose first key is row `row`.
  FFPA_DEVICE void load_k(int row, int chunk) {
    const unsigned barrier = begin_chunk(kKChunkBytes, 2);
    tma_load_4d(ring.address(), arguments.k, barrier, (int)half() * kHalfDim + chunk * kChunkD, row + warp() * kProductKeys, kv_head,
                {{ batch }});
    ring.advance(2);
  }

  // kChunkN keys from row `row` on, of the consumer's columns.
  FFPA_DEVICE void load_v(int row) {
    const unsigned barrier = begin_chunk(kVChunkBytes, 1);
//% if v_whole
    tma_load_5d(ring.address(), arguments.v, barrier, 0, row, first_column(warp()) / kVBlock, kv_head, {{ batch }});
//% else
#pragma unroll 1
    for (int block = 0; block < kColumnBlocks; ++block) {
      tma_load_4d(ring.address() + block * (kChunkN * kVBlock * 2), arguments.v, barrier, first_column(warp()) + block * kVBlock, row,
                  kv_head, {{ batch }});
    }
//% endif
    ring.advance();
  }

  // Lends a slot to the consumer's twin in the other block, to be filled with its part of our scores.
  FFPA_DEVICE void lend(unsigned smem) {
    begin_chunk(kPartialsBytes, 2);
    mbarrier_arrive_cluster(mapa(lent_barrier(smem, warp()), half() ^ 1));
    ring.advance(2);
  }
};

FFPA_DEVICE void load_q(const Arguments& arguments, const Tile& tile, unsigned smem) {
#pragma unroll 1
  for (int block = 0; block < kQBlocks; ++block) {
    const unsigned barrier = q_barrier(smem, block);
    mbarrier_arrive_expect_tx(barrier, kBlockBytes);
    tma_load_4d(smem + block * kBlockBytes, arguments.q, barrier, (int)half() * kHalfDim + block * 64, (int)tile.q_row + tile.q_begin,
                tile.head, {{ "0" if varlen else "tile.batch" }});
  }
}

// All that a consumer reads but Q, in its order: a tile's K, then the V of the tile before, and behind its first chunk what the twin
// sends of the tile's S. After the last tile's K come two chunks that are read ahead and not used.
FFPA_DEVICE void produce(const Arguments& arguments, const Tile& tile, unsigned smem) {
  Producer producer = {arguments, ring_of(smem, warp()), tile.kv_head, tile.batch};
  int row = (int)tile.k_row + tile.kv_begin;
  int keys = tile.kv_end - tile.kv_begin;  // from `row` on
#pragma unroll 1
  for (int chunk = 0; chunk < kKChunks; ++chunk) producer.load_k(row, chunk);
  producer.lend(smem);
#pragma unroll 1
  do {
    const bool last = keys <= kBlockN;
#pragma unroll 1
    for (int chunk = 0; chunk < (last ? 2 : kKChunks); ++chunk) producer.load_k(row + kBlockN, chunk);
#pragma unroll 1
    for (int step = 0; step < (last ? keys : kBlockN); step += kChunkN) {
      producer.load_v(row + step);
      if (step == kChunkN && !last) producer.lend(smem);
    }
    row += kBlockN;
    keys -= kBlockN;
  } while (keys > 0);
}
