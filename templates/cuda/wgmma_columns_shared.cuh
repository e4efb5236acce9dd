// Shared memory of cuda/wgmma_columns.cu.j2, its barriers, and the threads that load.
//
// From the start, each part at a multiple of 1024 bytes: Q, unless it streams, in blocks of 64 columns, [64 rows][128 bytes]
// under the 128-byte swizzle; P in blocks of 64 keys alike; for each consumer its ring of kStages slots and a page of 1024
// bytes. A slot holds a chunk of K, [kKeys keys][kChunkD columns], behind it the block of Q that goes with it where Q streams;
// or a chunk of V, [block of kVBlock columns][kChunkN keys].
// A page begins with the barriers of its ring; the first one's goes on with those of Q and of P, then either with those of its
// consumer's slots of masks and biases, which lie behind the rings (cuda/wgmma_columns_marks.cuh). From byte 512 on: one of two
// buffers of row maxima, [consumer][row].{{ " From byte 256 on: the consumer's sums for LSE." if lse }}
// src/plan/families/wgmma_columns.cpp adds up the same bytes.

constexpr int kBlockBytes = kBlockM * 128;
constexpr int kQBlocks = kQStreams ? 0 : (kKChunks * kChunkD + 63) / 64;
constexpr int kColumnBlocks = (kColumns + kVBlock - 1) / kVBlock;
constexpr int kKBytes = kKeys * kChunkD * 2;
constexpr int kKChunkBytes = kKBytes + (kQStreams ? kBlockBytes : 0);
constexpr int kVChunkBytes = kColumnBlocks * kChunkN * kVBlock * 2;
constexpr int kSlotBytes = ((kKChunkBytes > kVChunkBytes ? kKChunkBytes : kVChunkBytes) + 1023) / 1024 * 1024;
constexpr int kProbsBegin = kQBlocks * kBlockBytes;
constexpr int kRingBegin = kProbsBegin + kBlockN / 64 * kBlockBytes;
constexpr int kPage = kStages * kSlotBytes;  // of a ring's slots
constexpr int kRingBytes = kPage + 1024;
constexpr int kRingBarriers = 2 * kStages;
constexpr int kWarps = 8;  // that compute
constexpr int kMarkBarriers = kRingBarriers + kQBlocks + 3;  // of either page
static_assert((kMarkBarriers + {{ 4 if masked else 0 }}) * 8 <= {{ 256 if lse else 512 }});
{{ "FFPA_DEVICE void init_mark_barriers(unsigned smem);  // cuda/wgmma_columns_marks.cuh" if masked else "" }}

FFPA_DEVICE unsigned page_address(unsigned smem, int which) { return smem + kRingBegin + which * kRingBytes + kPage; }
FFPA_DEVICE unsigned q_barrier(unsigned smem, int block) { return page_address(smem, 0) + (kRingBarriers + block) * 8; }
FFPA_DEVICE unsigned handover_barriers(unsigned smem) { return q_barrier(smem, kQBlocks); }
FFPA_DEVICE unsigned stats_address(unsigned smem, int buffer, int consumer, int row) {
  return page_address(smem, buffer) + 512 + (consumer * kBlockM + row) * 4;
}

//% if lse
FFPA_DEVICE unsigned exact_sum_address(unsigned smem, int consumer, int row) { return page_address(smem, consumer) + 256 + row * 4; }

// By the lanes that will add to them.
FFPA_DEVICE void clear_exact_sums(unsigned smem) {
  for (int h = 0; h < 2; ++h) {
    if (lane() % 4 == 0) st_shared_f32(exact_sum_address(smem, consumer(), row_of(h)), 0.0f);
  }
}

//% endif
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
{{ "  init_mark_barriers(smem);" if masked else "" }}
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
  unsigned turn;  // of the tile whose softmax is computed: 0, 1, 0, ... Phases of the barriers are a tile behind.

  // P of this turn's tile has been written, by this warp.
  FFPA_DEVICE void ready() {
    fence_proxy_async_shared();
    __syncwarp();
    mbarrier_arrive_if(barriers, lane() == 0);
    turn ^= 1;
  }
  FFPA_DEVICE void wait_ready() const { mbarrier_wait(barriers, turn ^ 1); }
  // The first half of each warpgroup's keys has been read, so that the next tile's may be written; all has.
  FFPA_DEVICE void first_half_read() const { mbarrier_arrive_if(barriers + 8, lane() == 0); }
  FFPA_DEVICE void wait_first_half_read() const { mbarrier_wait(barriers + 8, turn ^ 1); }
  FFPA_DEVICE void all_read() const { mbarrier_arrive_if(barriers + 16, lane() == 0); }
  FFPA_DEVICE void wait_all_read() const { mbarrier_wait(barriers + 16, turn ^ 1); }
};

FFPA_DEVICE Handover handover_of(unsigned smem) { return {handover_barriers(smem), 0}; }

// P V takes a tile's keys in blocks of 64 in the order 0, 2, 1, 3: the first half of each warpgroup's first. The key that the
// chunk `step` keys into that order begins at.
FFPA_DEVICE constexpr int pv_key(int step) { return (step / 64 % 2 * 2 + step / 128) * 64 + step % 64; }

// The thread that loads for one consumer, whose number is its warp's. It has few registers: what it can compute anew it does
// not keep.
//% set batch = "0" if varlen else "batch"
//% set multicast = "_multicast" if cluster > 1 else ""
//% set blocks = ", (1 << kCluster) - 1" if cluster > 1 else ""
//% set multicast_v = multicast if splits == "rows" else ""
//% set blocks_v = blocks if splits == "rows" else ""
struct Producer {
  const Arguments& arguments;
  Ring ring;
  int kv_head, batch;

  // What the blocks of a cluster have in common, they load in turns, each for all.
  FFPA_DEVICE bool is_our_turn() const { return ring.slot % kCluster == rank(); }

  FFPA_DEVICE unsigned begin_chunk(unsigned bytes) {
    mbarrier_wait(ring.empty_barrier(), ring.parity ^ 1);
    mbarrier_arrive_expect_tx(ring.full_barrier(), bytes);
    return ring.full_barrier();
  }

  // Chunk `chunk` of the consumer's keys of the tile whose first key is row `row`.
  FFPA_DEVICE void load_k(int row, int chunk, const Tile& tile) {
    const unsigned barrier = begin_chunk(kKChunkBytes);
    if (is_our_turn()) {
      tma_load_4d{{ multicast }}(ring.address(), arguments.k, barrier{{ blocks }}, chunk * kChunkD, row + warp() * kKeys, kv_head, {{ batch }});
//% if q_streams
      tma_load_4d{{ multicast }}(ring.address() + kKBytes, arguments.q, barrier{{ blocks }}, chunk * kChunkD, (int)tile.q_row + tile.q_begin,
                            tile.head, {{ batch }});
//% endif
    }
    ring.advance();
  }

  // kChunkN keys from row `row` on, of the consumer's columns.
  FFPA_DEVICE void load_v(int row) {
    const unsigned barrier = begin_chunk(kVChunkBytes);
{{ "    if (is_our_turn()) {" if multicast_v else "    {" }}
//% if v_whole
      tma_load_5d{{ multicast_v }}(ring.address(), arguments.v, barrier{{ blocks_v }}, 0, row, first_column(warp()) / kVBlock, kv_head, {{ batch }});
//% else
#pragma unroll 1
      for (int block = 0; block < kColumnBlocks; ++block) {
        tma_load_4d{{ multicast_v }}(ring.address() + block * (kChunkN * kVBlock * 2), arguments.v, barrier{{ blocks_v }},
                    first_column(warp()) + block * kVBlock, row, kv_head, {{ batch }});
      }
//% endif
    }
    ring.advance();
  }
};
//% if not q_streams

FFPA_DEVICE void load_q(const Arguments& arguments, const Tile& tile, unsigned smem) {
#pragma unroll 1
  for (int block = 0; block < kQBlocks; ++block) {
    const unsigned barrier = q_barrier(smem, block);
    mbarrier_arrive_expect_tx(barrier, kBlockBytes);
    tma_load_4d(smem + block * kBlockBytes, arguments.q, barrier, block * 64, (int)tile.q_row + tile.q_begin, tile.head,
                {{ "0" if varlen else "tile.batch" }});
  }
}
//% endif

// All that a consumer reads but Q, in its order: a tile's K, then the V of the tile before.
FFPA_DEVICE void produce(const Arguments& arguments, const Tile& tile, unsigned smem) {
  Producer producer = {arguments, ring_of(smem, warp()), tile.kv_head, tile.batch};
  const int k_row = (int)tile.k_row;
#pragma unroll 1
  for (int chunk = 0; chunk < kKChunks; ++chunk) producer.load_k(k_row + tile.kv_begin, chunk, tile);
#pragma unroll 1
  for (int kv = tile.kv_begin; kv < tile.kv_end; kv += kBlockN) {
    const int next = kv + kBlockN;
    const bool last = next >= tile.kv_end;
#pragma unroll 1
    for (int chunk = 0; !last && chunk < kKChunks; ++chunk) producer.load_k(k_row + next, chunk, tile);
    const int keys = last ? tile.kv_end - kv : kBlockN;
#pragma unroll 1
    for (int step = 0; step < keys; step += kChunkN) producer.load_v(k_row + kv + (last ? step : pv_key(step)));
  }
}
