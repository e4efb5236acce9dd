// What the four consumer warpgroups of cuda/wgmma_halves.cu.j2's cluster tell each other, tile by tile: parts of S, numbers
// of rows, P. What comes from the other block is counted in bytes at the barrier that says that all is there.
//
// Parts of S go into a slot of the receiver's ring, which its producer lends in turn: in the same place of both rings.
// That a tile's row numbers and the P before have been read is told once, by all to all. Each waits for that before it places the
// tile's P, and nobody comes to the next tile's before P is in place: no buffer needs more than that.

// Weights in 16 bits, of the lane's scores.
struct Probs {
  unsigned value[2 * kSTiles];
};

struct Exchange {
  unsigned smem;
  unsigned tile;  // whose softmax is computed, from 0 on

  // Barriers behind those of lent slots, in this order: of row numbers, for each buffer one for each of a warpgroup's warps; P in
  // place; all read.
  static constexpr int kWarps = 8;
  FFPA_DEVICE unsigned barriers() const { return lent_barrier(smem, 2); }
  FFPA_DEVICE unsigned rows_barrier(unsigned turn, int thread) const { return barriers() + (turn % 2 * 4 + warp(thread)) * 8; }
  FFPA_DEVICE unsigned placed_barrier() const { return barriers() + kWarps * 8; }
  FFPA_DEVICE unsigned read_barrier() const { return barriers() + (kWarps + 1) * 8; }

  FFPA_DEVICE unsigned other(unsigned address) const { return mapa(address, half() ^ 1); }

  // The block's part of the scores that the twin keeps: in block 0 the second half of the keys. `slot` is next in both rings.
  FFPA_DEVICE void send(const PartialTile& scores, const Ring& slot, int thread = this_thread()) const {
    const unsigned to = other(slot.address() + (unsigned)thread % 128 * 16);
    const unsigned barrier = other(slot.full_barrier());
    const bool upper = half() != 0;
    mbarrier_wait(lent_barrier(smem, consumer(thread)), tile % 2);
#pragma unroll
    for (int j = 0; j < kSTiles; ++j) {
      unsigned four[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        four[i] = __builtin_bit_cast(unsigned, upper ? scores.value[4 * j + i] : scores.value[4 * (kSTiles + j) + i]);
      }
      st_async_v4(to + j * 128 * 16, four[0], four[1], four[2], four[3], barrier);
    }
  }

  // And what the twin has sent of ours, in `slot`.
  FFPA_DEVICE void receive(ScoreTile& scores, const PartialTile& mine, const Ring& slot, int thread = this_thread()) const {
    const bool upper = half() != 0;
    mbarrier_wait(slot.full_barrier(), slot.parity);
#pragma unroll
    for (int j = 0; j < kSTiles; ++j) {
      const Words4 four = ld_shared_v4_u32(slot.address() + ((unsigned)thread % 128 + j * 128) * 16);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        scores.value[4 * j + i] = (upper ? mine.value[4 * (kSTiles + j) + i] : mine.value[4 * j + i]) +
                                  __builtin_bit_cast(float, four.word[i]);
      }
    }
    fence_proxy_async_shared();
    __syncwarp();
    slot.release(0, 2);
  }

  // Numbers of a row, one of each warpgroup; `turn` counts, the tiles first.
  FFPA_DEVICE unsigned row_address(unsigned turn, int key_block, int row) const {
    return smem + kRowsBegin + turn % 2 * kRowsBytes + (key_block * kBlockM + row) * 4;
  }
  FFPA_DEVICE void share_rows(const float (&value)[2], unsigned turn, int thread = this_thread()) const {
    const unsigned barrier = other(rows_barrier(turn, thread));
    if (lane(thread) % 4 == 0) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const unsigned address = row_address(turn, key_block(thread), row_of(h, thread));
        st_shared_f32(address, value[h]);
        st_async_u32(other(address), __builtin_bit_cast(unsigned, value[h]), barrier);
      }
    }
    __syncwarp();
    if (lane(thread) == 0) mbarrier_arrive_expect_tx(rows_barrier(turn, thread), 16 * 4);
  }
  FFPA_DEVICE void wait_rows(unsigned turn, int thread = this_thread()) const { mbarrier_wait(rows_barrier(turn, thread), turn / 2 % 2); }
  // What warpgroup `i` of the other three has shared.
  FFPA_DEVICE float shared_row(unsigned turn, int i, int h, int thread = this_thread()) const {
    return ld_shared_f32(row_address(turn, key_block(thread) ^ i, row_of(h, thread)));
  }

  // P of the tile whose softmax is done, to both blocks.
  FFPA_DEVICE void place(const Probs& probs, int thread = this_thread()) const {
    const unsigned rows = smem + kProbsBegin + key_block(thread) * kBlockBytes + warp(thread) * (16 * 128);
    mbarrier_wait(read_barrier(), tile % 2 ^ 1);
#pragma unroll
    for (int i = 0; i < kSTiles / 2; ++i) {
      const unsigned four[4] = {probs.value[4 * i], probs.value[4 * i + 1], probs.value[4 * i + 2], probs.value[4 * i + 3]};
      stmatrix_x4(rows + lane(thread) % 16 * 128 + ((unsigned)(2 * i + lane(thread) / 16) ^ (unsigned)lane(thread) % 8) * 16, four);
    }
    fence_proxy_async_shared();
    __syncwarp();
    if (lane(thread) == 0) {
      mbarrier_arrive_expect_tx(placed_barrier(), 16 * 128);
      bulk_send(other(rows), rows, 16 * 128, other(placed_barrier()));
    }
  }
  FFPA_DEVICE void wait_placed() const { mbarrier_wait(placed_barrier(), tile % 2 ^ 1); }
  // What was shared of this tile, and P of the one before.
  FFPA_DEVICE void all_read() const {
    __syncwarp();
    mbarrier_arrive_cluster_if(mapa(read_barrier(), lane() % kCluster), lane() < kCluster);
  }
};

FFPA_DEVICE Exchange exchange_of(unsigned smem) { return {smem, 0}; }

FFPA_DEVICE void init_exchange_barriers(unsigned barriers) {
#pragma unroll 1
  for (int i = 0; i < 2 + Exchange::kWarps; ++i) mbarrier_init(barriers + i * 8, i < 2 ? 1 : 2);
  mbarrier_init(barriers + (2 + Exchange::kWarps) * 8, Exchange::kWarps);
  mbarrier_init(barriers + (3 + Exchange::kWarps) * 8, Exchange::kWarps * kCluster);
}
