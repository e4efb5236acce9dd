// Dropout of cuda/wgmma_rows.cu.j2: warps of their own decide what is kept, tiles ahead of those that compute. Those are busy with
// softmax while their products run; ten rounds of Philox beside it took longer than the products.
//
// A slot holds 32 keys to a word: [keys][row of the block]. Its barriers follow the items'.

constexpr int kKeptWords = (kBlockN + 31) / 32;  // of a row
constexpr int kKeptBytes = kKeptWords * kBlockM * 4;
constexpr int kKeptStages = {{ kept_stages }};
constexpr int kDiceBegin = {{ dice_begin }};  // the first of their threads
constexpr int kDiceThreads = 32 * {{ dice_warps }};
constexpr int kKeptBegin = (kItemsBegin + 2 * kItemBytes + 15) / 16 * 16;
typedef Place<kKeptStages> KeptPlace;

FFPA_DEVICE unsigned kept_full(unsigned smem, const KeptPlace& place) { return barrier_at(smem, kKeptBarriers + place.slot); }
FFPA_DEVICE unsigned kept_empty(unsigned smem, const KeptPlace& place) { return barrier_at(smem, kKeptBarriers + kKeptStages + place.slot); }
FFPA_DEVICE unsigned kept_at(unsigned smem, const KeptPlace& place, int word, int row) {
  return smem + kKeptBegin + place.slot * kKeptBytes + (word * kBlockM + row) * 4;
}

// Of a tile, of the lane's two rows.
struct KeptMarks {
  unsigned kept[2][kKeptWords];

  FFPA_DEVICE void load(unsigned smem, const KeptPlace& place) {
    mbarrier_wait(kept_full(smem, place), place.parity);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int word = 0; word < kKeptWords; ++word) kept[h][word] = ld_shared_u32(kept_at(smem, place, word, row_of(h)));
    }
    __syncwarp();
    mbarrier_arrive_if(kept_empty(smem, place), lane() == 0);
  }
};

// What is kept of tile j.
FFPA_DEVICE void draw(const Dice& dice, const ForwardParams& params, const Tile& tile, int j, unsigned smem, const KeptPlace& place) {
#pragma unroll 1
  for (int index = (int)threadIdx.x - kDiceBegin; index < kKeptWords * kBlockM; index += kDiceThreads) {
    const int row = index % kBlockM, word = index / kBlockM;
    const unsigned long long element = dropout_row(params, dice.philox, tile.batch, head_of(tile, row), query_of(tile, row));
    st_shared_u32(kept_at(smem, place, word, row), kept_of_32(dice, element + (unsigned)(first_key(tile, j) + 32 * word)));
  }
}
