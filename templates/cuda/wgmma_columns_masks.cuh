// Which scores of cuda/wgmma_columns.cu.j2 count, and what is added to them.

// One bit for each of the lane's scores of a row: bit 2 j + e of key_of(j) + e. Of the first `keys` keys from key_of(0) on.
FFPA_DEVICE unsigned bits_before(int keys) {
  const int even = keys + 7 < 0 ? 0 : (keys + 7) / 8;
  const int odd = keys + 6 < 0 ? 0 : (keys + 6) / 8;
  const unsigned evens = even >= kSTiles ? 0x55555555u : (1u << (2 * even)) - 1 & 0x55555555u;
  const unsigned odds = odd >= kSTiles ? 0xaaaaaaaau : (1u << (2 * odd)) - 1 & 0xaaaaaaaau;
  return evens | odds;
}
static_assert(2 * kSTiles == 32);

//% if masked
// A mask in global memory.
template <typename Value>
struct Mask {
  const Value* row0;  // of the tile's batch entry
  long long stride_batch, stride_head, stride_row, stride_key;

  FFPA_DEVICE const Value* row_at(const Tile& tile, int row, int key) const {
    const RowPlace place = place_of(tile, row);
    return row0 + place.head * stride_head + place.q * stride_row + key * stride_key;
  }
};

template <typename Value>
FFPA_DEVICE Mask<Value> mask_at(const void* tensor, const Tile& tile, long long stride_batch, long long stride_head, long long stride_row,
                                long long stride_key) {
  return {(const Value*)tensor + tile.batch * stride_batch, stride_batch, stride_head, stride_row, stride_key};
}
//% endif
//% if mask
FFPA_DEVICE Mask<unsigned char> boolean_mask(const ForwardParams& params, const Tile& tile) {
  return mask_at<unsigned char>(params.mask, tile, params.mask_stride_batch, params.mask_stride_head,
                                params.mask_stride_row, params.mask_stride_key);
}
//% endif
//% if bias
FFPA_DEVICE Mask<BiasElement> additive_mask(const ForwardParams& params, const Tile& tile) {
  return mask_at<BiasElement>(params.bias, tile, params.bias_stride_batch, params.bias_stride_head,
                              params.bias_stride_row, params.bias_stride_key);
}
//% endif

//% if masked
//% include "cuda/wgmma_columns_marks.cuh"
//% endif

//% if natural
// Scale or softcap, and modifier, of one score: in natural units from here on.
FFPA_DEVICE float modified(float score, const ForwardParams& params, [[maybe_unused]] const Tile& tile,
                           [[maybe_unused]] const RowPlace& place, [[maybe_unused]] int key) {
{{ "  score = params.softcap * capped(score, cap_factor(params));" if softcap else "  score *= params.softmax_scale;" }}
//% if modifier
  score = modifier::modified(params, score, tile.batch, place.head, place.q, key, tile.seqlen_q, tile.seqlen_k);
//% endif
  return score;
}

//% endif
//% if modifies
// A quarter of the lane's scores, with what biases and the mask say of them.
FFPA_DEVICE void modify_scores(ScoreTile& scores, [[maybe_unused]] const ForwardParams& params, [[maybe_unused]] const Tile& tile,
                               [[maybe_unused]] int kv, int quarter, [[maybe_unused]] unsigned smem) {
//% if masked
  QuarterMarks marks;
  marks.begin(smem, quarter);
//% endif
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int thread = this_thread();
    const int row = row_of(h, thread);
    [[maybe_unused]] const RowPlace place = place_of(tile, row);
#pragma unroll
    for (int i = 0; i < kSTiles / 4; ++i) {
      const int j = quarter * (kSTiles / 4) + i;
//% if bias
      const Floats2 bias = marks.bias_of(row, i, thread);
//% endif
//% if mask
      const unsigned shown = marks.mask_of(row, i, thread);
//% endif
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores.value[4 * j + 2 * h + e];
{{ "        score = modified(score, params, tile, place, kv + key_of(j, thread) + e);" if natural else "" }}
{{ "        score = bias.value[e] == -kInfinity ? -kInfinity : score + bias.value[e];" if bias else "" }}
{{ "        score = shown & 0xffu << (8 * e) ? score : -kInfinity;" if mask else "" }}
      }
    }
  }
{{ "  marks.end();" if masked else "" }}
}

//% endif
// -infinity where a row does not see a key, whatever Q K^T came out as.
FFPA_DEVICE void hide_scores(ScoreTile& scores, const ForwardParams& params, const Tile& tile, int kv) {
  if (!is_partial(tile, kv)) return;
  const Tile here = tile_of(params, ctaid_x());  // computed anew, like what hangs on the thread: see thread_anew()
  const int thread = thread_anew();
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const KeyRange visible = keys_of_row(params, here, place_of(here, row_of(h, thread)).q);
    unsigned shown = bits_before(visible.end - kv - key_of(0, thread));
//% if window_left
    shown &= ~bits_before(visible.begin - kv - key_of(0, thread));
//% endif
#pragma unroll
    for (int j = 0; j < kSTiles; ++j) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores.value[4 * j + 2 * h + e];
        score = shown >> (2 * j + e) & 1 ? score : -kInfinity;
      }
    }
  }
}
