// The end of cuda/wgmma_rows.cu.j2: O and LSE to global memory.

struct RowResult {
  float inverse;  // turns sums into O
  float lse;      // natural
};

// A row that saw no key: O = 0, LSE = -infinity, or what the sink alone gives.
// `exact`: the sum that the LSE is made from.
FFPA_DEVICE RowResult result_of(float origin, float sum, [[maybe_unused]] float exact, const ForwardParams& params, [[maybe_unused]] int head) {
  const float scale = exponent_scale(params);
//% if sinks
  // A key without a value: it is relative to the row's origin like the others, if that is the higher one.
  const float sink = params.sinks[head];
  const float natural = sum == 0.0f ? -kInfinity : origin * (scale / kLog2e);
  const float top = natural > sink ? natural : sink;
  if (top == -kInfinity) return {0.0f, -kInfinity};
  const float of_keys = sum == 0.0f ? 0.0f : ex2_approx((natural - top) * kLog2e);
  const float of_sink = ex2_approx((sink - top) * kLog2e);
  sum = fma_rn(sum, of_keys, of_sink);
  exact = fma_rn(exact, of_keys, of_sink);
  return {of_keys{{ " * params.dropout_scale" if dropout else "" }} / sum, top + logf(exact)};
//% else
  if (sum == 0.0f) return {0.0f, -kInfinity};
  return { {{ "params.dropout_scale" if dropout else "1.0f" }} / sum, origin * (scale / kLog2e) + logf(exact)};
//% endif
}

FFPA_DEVICE Element* o_of(const ForwardParams& params, const Tile& tile, int row) {
  return (Element*)params.o + offset_of(tile, head_of(tile, row), tile.q_row + position_of(tile, row), params.o_stride_batch, params.o_stride_head, params.o_stride_row);
}
//% if lse
FFPA_DEVICE float& lse_of(const ForwardParams& params, const Tile& tile, int row) {
  return params.lse[offset_of(tile, head_of(tile, row), tile.q_row + position_of(tile, row), params.lse_stride_batch, params.lse_stride_head, 1)];
}
//% endif

// Group `group` of 32 columns of the lane's row of half h, of which `value` holds four n-tiles' accumulators.
FFPA_DEVICE void store_group(Element* to, const float (&value)[16], int group, int h, float inverse, bool stored) {
  unsigned word[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) word[k] = pack(value[4 * k + 2 * h] * inverse, value[4 * k + 2 * h + 1] * inverse);
  transpose_quad(word);
  const int column = 32 * group + lane() % 4 * 8;
  if (!stored || column >= kHeadDimV) return;
  if (((unsigned long long)to & 15) == 0) {
    Words4 words;
#pragma unroll
    for (int k = 0; k < 4; ++k) words.word[k] = word[k];
    *(Words4*)(to + column) = words;
  } else {
#pragma unroll
    for (int k = 0; k < 8; ++k) to[column + k] = (Element)(word[k / 2] >> (k % 2 * 16));
  }
}

// Over the lanes of a row.
FFPA_DEVICE float quad_sum(float value) {
  value += shfl_bfly(value, 1);
  return value + shfl_bfly(value, 2);
}

constexpr int kGroups = (kOTiles + 3) / 4;

//% if staged
// By way of shared memory, a warp's sixteen rows; the copies to global memory go on while the next item is computed. The rows of the
// item before have been read when this one's are written.
FFPA_DEVICE void store(const OutTile& out, const RowState& state, const ForwardParams& params, unsigned smem, unsigned count) {
  tma_store_wait_group_read<0>();
  __syncwarp();
  RowResult result[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float sum = quad_sum(state.sum[h]);
    result[h] = result_of(state.origin[h], sum, {{ "quad_sum(state.exact[h])" if lse else "sum" }}, params, {{ "head_of(item_at(smem, count), row_of(h))" if sinks else "0" }});
  }
  const int row = consumer() * 64 + warp() * 16 + lane() % 16;
  const unsigned from = smem + kOBegin + row * kOPitch;
#pragma unroll
  for (int i = 0; i < (kOTiles + 1) / 2; ++i) {
    unsigned four[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int at = 8 * i + 2 * r;
      four[r] = at < kHeadDimV / 2 ? pack(out.value[at] * result[r % 2].inverse, out.value[at + 1] * result[r % 2].inverse) : 0;
    }
    stmatrix_x4(from + i * 32 + lane() / 16 * 16, four);
  }
  fence_proxy_async_shared();
  __syncwarp();
  const Tile tile = item_at(smem, count);
  if (lane() < 16 && is_row(tile, row)) {
    Element* to = o_of(params, tile, row);
    if (((unsigned long long)to & 15) == 0) {
      bulk_store(to, from, 2 * kHeadDimV);
    } else {
#pragma unroll 1
      for (int column = 0; column < kHeadDimV; ++column) to[column] = (Element)ld_shared_u16(from + 2 * column);
    }
  }
  tma_store_commit_group();
//% if lse
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    if (is_row(tile, row_of(h)) && lane() % 4 == 0) lse_of(params, tile, row_of(h)) = result[h].lse;
  }
//% endif
}
//% else
FFPA_DEVICE void store(const OutTile& out, const RowState& state, const ForwardParams& params, const Tile& tile) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float sum = quad_sum(state.sum[h]);
    const RowResult result = result_of(state.origin[h], sum, {{ "quad_sum(state.exact[h])" if lse else "sum" }}, params, head_of(tile, row_of(h)));
    const bool stored = is_row(tile, row_of(h));
    Element* to = o_of(params, tile, row_of(h));
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      float value[16];
#pragma unroll
      for (int i = 0; i < 16; ++i) value[i] = 16 * group + i < kHeadDimV / 2 ? out.value[16 * group + i] : 0.0f;
      store_group(to, value, group, h, result.inverse, stored);
    }
//% if lse
    if (stored && lane() % 4 == 0) lse_of(params, tile, row_of(h)) = result.lse;
//% endif
  }
}
//% endif

// Of rows that see no key.
FFPA_DEVICE void store_nothing(const ForwardParams& params, const Tile& tile) {
#pragma unroll 1
  for (int i = 0; i < 16; ++i) {
    const int row = consumer() * 64 + warp() * 16 + i;
    if (!is_row(tile, row)) continue;
    for (int column = lane(); column < kHeadDimV; column += 32) o_of(params, tile, row)[column] = 0;
//% if lse
    if (lane() == 0) lse_of(params, tile, row) = result_of(-kInfinity, 0.0f, 0.0f, params, head_of(tile, row)).lse;
//% endif
  }
}
