// Which scores of cuda/wgmma_rows.cu.j2 count: what lengths, windows and the mask leave.

// -infinity where a row does not see a key, whatever Q K^T came out as.
FFPA_DEVICE void hide_scores(ScoreTile& scores{{ ", const Marks& marks" if mask else "" }}, const ForwardParams& params, const Tile& tile, int j, unsigned smem, unsigned count) {
  const int kv = first_key(tile, j);
//% if mask
  const unsigned mask = marks.mask_address();
#pragma unroll
  for (int i = 0; i < kSTiles; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const unsigned shown = Marks::mask_of(mask, h, i);
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores.value[4 * i + 2 * h + e];
        score = shown & 0xffu << (8 * e) ? score : -kInfinity;
      }
    }
  }
//% endif
  if (kv >= tile.full_begin && kv + kBlockN <= tile.full_end) return;
  const Tile item = item_at(smem, count);  // read anew: of few tiles of keys, for which no registers are kept
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const KeyRange visible = keys_of_row(params, item, query_of(item, row_of(h)));
    const int end = visible.end - kv - column_of(0);
//% if window_left
    const int begin = visible.begin - kv - column_of(0);
//% endif
#pragma unroll
    for (int i = 0; i < kSTiles; ++i) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores.value[4 * i + 2 * h + e];
        const bool shown = 8 * i + e < end{{ " && 8 * i + e >= begin" if window_left else "" }};
        score = shown ? score : -kInfinity;
      }
    }
  }
}
