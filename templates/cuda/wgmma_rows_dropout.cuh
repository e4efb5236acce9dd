// Dropout of cuda/wgmma_rows.cu.j2: which weights are kept, decided for some tiles at a time while no products run. Philox multiplies to
// 64 bits, and that and wgmma hold each other up (measured on an H200: a quarter of each one's speed is left beside the other's).
//
// A slot of shared memory holds a tile, 32 keys to a word: [keys][row of the block].

constexpr int kKeptWords = (kBlockN + 31) / 32;  // of a row
constexpr int kKeptBytes = kKeptWords * kBlockM * 4;
constexpr int kKeptStages = {{ kept_stages }};
constexpr int kKeptBegin = (kItemsBegin + 2 * kItemBytes + 15) / 16 * 16;

FFPA_DEVICE unsigned kept_at(unsigned smem, int slot, int word, int row) {
  return smem + kKeptBegin + slot * kKeptBytes + (word * kBlockM + row) * 4;
}

// Of a tile, of the lane's two rows.
struct KeptMarks {
  unsigned kept[2][kKeptWords];

  FFPA_DEVICE void load(unsigned smem, int slot) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int word = 0; word < kKeptWords; ++word) kept[h][word] = ld_shared_u32(kept_at(smem, slot, word, row_of(h)));
    }
  }
};

// By a warp, for its 16 rows: of tile j and `count` - 1 to the left of it. Each lane has one row, of which it does every other word.
FFPA_DEVICE void decide(const Dice& dice, const ForwardParams& params, const Tile& tile, int j, int count, unsigned smem) {
  const int row = consumer() * 64 + warp() * 16 + lane() % 16;
  const unsigned long long element =
      dropout_row(params, dice.philox, tile.batch, head_of(tile, row), query_of(tile, row)) + (unsigned)first_key(tile, j);
  __syncwarp();
#pragma unroll 1
  for (int index = lane() / 16; index < kKeptWords * count; index += 2) {
    const int word = index % kKeptWords, slot = index / kKeptWords;
    st_shared_u32(kept_at(smem, slot, word, row), kept_of_32<(kHeadDimV > 192 ? 2 : 4)>(dice, element + (long long)(32 * word - kBlockN * slot)));
  }
  __syncwarp();
}

// The same of as many as there are slots, or tiles left: how many. By all consumers at a time, none of whose products run. What
// is to be known of the item is read anew, so that no registers are taken between.
FFPA_DEVICE int decide_next(unsigned carries, const ForwardParams& params, int j, int first, unsigned smem, unsigned item_count) {
  const int count = j - first < kKeptStages ? j - first + 1 : kKeptStages;
  bar_sync(1, 128 * kConsumers);
  decide({philox_key(params), carries}, params, item_at(smem, item_count), j, count, smem);
  return count;
}
