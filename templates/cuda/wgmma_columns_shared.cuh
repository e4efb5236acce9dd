// Shared memory of cuda/wgmma_columns.cu.j2, its barriers, and the threads that load.
//
// From the start, each part at a multiple of 1024 bytes: Q in blocks of 64 columns, [64 rows][128 bytes] under the 128-byte
// swizzle; P in blocks of 64 keys alike; for each consumer its ring of kStages slots and a page of 1024 bytes.
// A slot holds a chunk of K, [kKeys keys][kChunkD columns], or of V, [block of 64 columns][kChunkN keys][128 bytes].
// A page begins with the barriers of its ring; the first one's goes on with those of Q and of P. From byte 512 on: one of two
// buffers of row maxima, [consumer][row].
// src/plan/families/wgmma_columns.cpp adds up the same bytes.

constexpr int kBlockBytes = kBlockM * 128;
constexpr int kQBlocks = (kKChunks * kChunkD + 63) / 64;
constexpr int kColumnBlocks = (kColumns + 63) / 64;
constexpr int kKChunkBytes = kKeys * kChunkD * 2;
constexpr int kVChunkBytes = kColumnBlocks * kChunkN * 128;
constexpr int kSlotBytes = kKChunkBytes > kVChunkBytes ? kKChunkBytes : kVChunkBytes;
constexpr int kProbsBegin = kQBlocks * kBlockBytes;
constexpr int kRingBegin = kProbsBegin + kBlockN / 64 * kBlockBytes;
constexpr int kPage = kStages * kSlotBytes;  // of a ring's slots
constexpr int kRingBytes = kPage + 1024;
constexpr int kRingBarriers = 2 * kStages;
constexpr int kWarps = 8;  // that compute
static_assert((kRingBarriers + kQBlocks + 3) * 8 <= 512);

FFPA_DEVICE unsigned page_address(unsigned smem, int which) { return smem + kRingBegin + which * kRingBytes + kPage; }
FFPA_DEVICE unsigned q_barrier(unsigned smem, int block) { return page_address(smem, 0) + (kRingBarriers + block) * 8; }
FFPA_DEVICE unsigned handover_barriers(unsigned smem) { return q_barrier(smem, kQBlocks); }
FFPA_DEVICE unsigned stats_address(unsigned smem, int buffer, int consumer, int row) {
  return page_address(smem, buffer) + 512 + (consumer * kBlockM + row) * 4;
}

FFPA_DEVICE void init_barriers(unsigned smem) {
#pragma unroll 1
  for (int i = 0; i < kRingBarriers; ++i) {
    const unsigned arrivals = i < kStages ? 1 : 4 * kCluster;  // full, empty
    mbarrier_init(page_address(smem, 0) + i * 8, arrivals);
    mbarrier_init(page_address(smem, 1) + i * 8, arrivals);
  }
#pragma unroll 1
  for (int block = 0; block < kQBlocks; ++block) mbarrier_init(q_barrier(smem, block), 1);
#pragma unroll 1
  for (int i = 0; i < 3; ++i) mbarrier_init(handover_barriers(smem) + i * 8, kWarps);
  fence_mbarrier_init();
}

// One warpgroup's ring, as its consumer and its producer see it. A slot is given back once the products that read it are
// complete, which is known when the next chunk's have been issued.
struct Ring {
  unsigned slots;  // of slot 0: address
  unsigned slot, parity;

  FFPA_DEVICE unsigned address() const { return slots + slot * kSlotBytes; }
  FFPA_DEVICE unsigned full_barrier() const { return slots + kPage + slot * 8; }
  FFPA_DEVICE unsigned empty_barrier() const { return full_barrier() + kStages * 8; }
  FFPA_DEVICE void advance() {
    if (++slot == kStages) {
      slot = 0;
      parity ^= 1;
    }
  }
  // Gives back the slot `chunks` before this one, to the producers of all blocks that load into it.
  FFPA_DEVICE void release(unsigned chunks) const {
    const unsigned which = slot < chunks ? slot + kStages - chunks : slot - chunks;
    const unsigned empty = slots + kPage + kStages * 8 + which * 8;
//% if cluster > 1
    mbarrier_arrive_cluster_if(mapa(empty, lane() % kCluster), lane() < kCluster);
//% else
    mbarrier_arrive_if(empty, lane() == 0);
//% endif
  }
  // The newest chunk's products have been issued: all before are complete, and the last before is given back.
  FFPA_DEVICE void retire() const {
    wgmma_wait_group<1>();
    release(1);
  }
};

FFPA_DEVICE Ring ring_of(unsigned smem, int consumer) {
  return {smem + kRingBegin + consumer * kRingBytes, 0, 0};
}

// P between the two warpgroups.
struct Handover {
  unsigned barriers;
  unsigned parity;

  // P of a tile has been written, by this warp.
  FFPA_DEVICE void ready() const {
    fence_proxy_async_shared();
    __syncwarp();
    mbarrier_arrive_if(barriers, lane() == 0);
  }
  FFPA_DEVICE void wait_ready() const { mbarrier_wait(barriers, parity); }
  // The first half of each warpgroup's keys has been read, so that the next tile's may be written; all has.
  FFPA_DEVICE void first_half_read() const { mbarrier_arrive_if(barriers + 8, lane() == 0); }
  FFPA_DEVICE void wait_first_half_read() const { mbarrier_wait(barriers + 8, parity); }
  FFPA_DEVICE void all_read() const { mbarrier_arrive_if(barriers + 16, lane() == 0); }
  FFPA_DEVICE void wait_all_read() {
    mbarrier_wait(barriers + 16, parity);
    parity ^= 1;
  }
};

FFPA_DEVICE Handover handover_of(unsigned smem) { return {handover_barriers(smem), 0}; }

// P V takes a tile's keys in blocks of 64 in the order 0, 2, 1, 3: the first half of each warpgroup's first. The key that the
// chunk `step` keys into that order begins at.
FFPA_DEVICE constexpr int pv_key(int step) { return (step / 64 % 2 * 2 + step / 128) * 64 + step % 64; }

// The thread that loads for warpgroup `consumer`.
struct Producer {
  const Arguments& arguments;
  const Tile& tile;
  int consumer;
  Ring ring;

  FFPA_DEVICE unsigned begin_chunk(unsigned bytes) {
    mbarrier_wait(ring.empty_barrier(), ring.parity ^ 1);
    mbarrier_arrive_expect_tx(ring.full_barrier(), bytes);
    return ring.full_barrier();
  }

  FFPA_DEVICE void load_k(int kv, int chunk) {
    const unsigned barrier = begin_chunk(kKChunkBytes);
    const unsigned to = ring.address();
    const int row = (int)tile.k_row + kv + consumer * kKeys;
//% if cluster > 1
    // Each block loads its share of the keys for all.
    constexpr int kShare = kKeys / kCluster;
    tma_load_4d_multicast(to + rank() * (kKChunkBytes / kCluster), arguments.k, barrier, (1 << kCluster) - 1, chunk * kChunkD,
                          row + (int)rank() * kShare, tile.kv_head, {{ "0" if varlen else "tile.batch" }});
//% else
    tma_load_4d(to, arguments.k, barrier, chunk * kChunkD, row, tile.kv_head, {{ "0" if varlen else "tile.batch" }});
//% endif
    ring.advance();
  }

  FFPA_DEVICE void load_v(int key) {
    const unsigned barrier = begin_chunk(kVChunkBytes);
    const unsigned to = ring.address();
#pragma unroll 1
    for (int block = {{ "(int)rank()" if cluster > 1 and splits == "rows" else "0" }}; block < kColumnBlocks; block += {{ cluster if splits == "rows" else 1 }}) {
      const int column = first_column(consumer) + block * 64;
//% if cluster > 1 and splits == "rows"
      tma_load_4d_multicast(to + block * kChunkN * 128, arguments.v, barrier, (1 << kCluster) - 1, column, (int)tile.k_row + key,
                            tile.kv_head, {{ "0" if varlen else "tile.batch" }});
//% else
      tma_load_4d(to + block * kChunkN * 128, arguments.v, barrier, column, (int)tile.k_row + key, tile.kv_head,
                  {{ "0" if varlen else "tile.batch" }});
//% endif
    }
    ring.advance();
  }
};

// All that a consumer reads, in its order.
FFPA_DEVICE void produce(const Arguments& arguments, const Tile& tile, unsigned smem, int consumer) {
  Producer producer = {arguments, tile, consumer, ring_of(smem, consumer)};
#pragma unroll 1
  for (int chunk = 0; chunk < kKChunks; ++chunk) {
    if (consumer == 0 && chunk * kChunkD % 64 == 0) {
      const int block = chunk * kChunkD / 64;
      mbarrier_arrive_expect_tx(q_barrier(smem, block), kBlockBytes);
      tma_load_4d(smem + block * kBlockBytes, arguments.q, q_barrier(smem, block), block * 64, (int)tile.q_row + tile.q_begin,
                  tile.head, {{ "0" if varlen else "tile.batch" }});
    }
    producer.load_k(tile.kv_begin, chunk);
  }
  int kv = tile.kv_begin + kBlockN;
#pragma unroll 1
  for (; kv < tile.kv_end; kv += kBlockN) {
#pragma unroll 1
    for (int chunk = 0; chunk < kKChunks; ++chunk) producer.load_k(kv, chunk);
#pragma unroll 1
    for (int step = 0; step < kBlockN; step += kChunkN) producer.load_v(kv - kBlockN + pv_key(step));
  }
#pragma unroll 1
  for (int chunk = 0; chunk < 2; ++chunk) producer.load_k(kv, chunk);  // read ahead and not used
#pragma unroll 1
  for (int key = 0; key < tile.last_keys; key += kChunkN) producer.load_v(kv - kBlockN + key);
}
