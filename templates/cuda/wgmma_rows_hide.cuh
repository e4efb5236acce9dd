// Which scores of cuda/wgmma_rows.cu.j2 count: what lengths, windows and the mask leave.

// -infinity where a row does not see a key, whatever Q K^T came out as.
FFPA_DEVICE void hide_scores(ScoreTile& scores, [[maybe_unused]] const Marks& marks, const ForwardParams& params, const Tile& tile, int j) {
  const int kv = first_key(tile, j);
//% if mask
  unsigned shown[2][(kSTiles + 15) / 16];
  marks.shown.find(shown);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
#pragma unroll
    for (int i = 0; i < 2 * kSTiles; ++i) {
      float& score = scores.value[4 * (i / 2) + 2 * h + i % 2];
      score = shown[h][i / 32] >> (i % 32) & 1 ? score : -kInfinity;
    }
  }
//% endif
  if (kv >= tile.full_begin && kv + kBlockN <= tile.full_end) return;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const KeyRange visible = keys_of_row(params, tile, query_of(tile, row_of(h)));
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
