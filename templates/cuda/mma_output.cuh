// The end of cuda/mma_forward.cu.j2: O and LSE to global memory, or a split's share of them to the workspace.

// Sums over the lanes of a row, then over the row's warps.
FFPA_DEVICE void row_sums(RowState& state, unsigned smem) {
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float& sum = state.sum[i][h];
      sum += shfl_bfly(sum, 1);
      sum += shfl_bfly(sum, 2);
    }
  }
  if constexpr (kWarpsN > 1) {
    bar_sync(1 + warp_m(), 32 * kWarpsN);  // the last maxima have been read
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        if (lane() % 4 == 0) st_shared_f32(stats_address(smem, row_of(i, h), warp_n()), state.sum[i][h]);
      }
    }
    bar_sync(1 + warp_m(), 32 * kWarpsN);
#pragma unroll
    for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        state.sum[i][h] = 0.0f;
#pragma unroll
        for (int w = 0; w < kWarpsN; ++w) state.sum[i][h] += ld_shared_f32(stats_address(smem, row_of(i, h), w));
      }
    }
  }
}

// A row that saw no key: O = 0, LSE = -infinity.
struct RowResult {
  float inverse;  // what O is multiplied by
  float lse;
};
FFPA_DEVICE RowResult result_of(const RowState& state, const ForwardParams& params, int i, int h) {
  const float sum = state.sum[i][h];
  return {sum == 0.0f ? 0.0f : {{ "params.dropout_scale" if dropout else "1.0f" }} / sum,
          sum == 0.0f ? -kInfinity : state.origin[i][h] * (exponent_scale(params) / kLog2e) + logf(sum)};
}

FFPA_DEVICE Element* o_row(const ForwardParams& params, const Tile& tile, const RowPlace& place) {
  return (Element*)params.o + offset_of(tile, place.head, tile.q_row + place.q, params.o_stride_batch,
                                        params.o_stride_head, params.o_stride_row);
}
//% if lse
FFPA_DEVICE void store_lse(const ForwardParams& params, const Tile& tile, const RowPlace& place, float lse) {
  params.lse[offset_of(tile, place.head, tile.q_row + place.q, params.lse_stride_batch, params.lse_stride_head, 1)] =
      lse;
}
//% endif

//% if packed
struct alignas(8) Float2 {
  float x, y;
};

// O and LSE over this block's share of the keys, for cuda/mma_merge.cu.j2.
FFPA_DEVICE void store_part(const OutTile& out, RowState& state, unsigned smem, const ForwardParams& params,
                            const Tile& tile) {
  row_sums(state, smem);
  const long long rows = (long long)params.batch * params.heads_q * params.seqlen_q;
  float* all_o = (float*)params.workspace;
  float* all_lse = all_o + tile.parts * rows * kHeadDimV;
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row_of_tile = tile.row_begin + row_of(i, h);
      if (row_of_tile >= tile.rows) continue;
      const RowPlace place = place_of(tile, row_of_tile);
      const RowResult result = result_of(state, params, i, h);
      const long long row = ((long long)tile.batch * params.heads_q + place.head) * params.seqlen_q + place.q;
      if (warp_n() == 0 && lane() % 4 == 0) all_lse[row * tile.parts + tile.part] = result.lse;
      float* to = all_o + (tile.part * rows + row) * kHeadDimV;
#pragma unroll
      for (int j = 0; j < kOTiles; ++j) {
        const int column = column_of(j);
        if (kHeadDimV < kWarpsN * kColumns && column >= kHeadDimV) break;
        *(Float2*)(to + column) = {out.value[i][j][2 * h] * result.inverse, out.value[i][j][2 * h + 1] * result.inverse};
      }
    }
  }
}
//% endif

FFPA_DEVICE void store(const OutTile& out, RowState& state, unsigned smem, const ForwardParams& params,
                       const Tile& tile) {
  row_sums(state, smem);
#pragma unroll
  for (int i = 0; i < kMTiles; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = tile.row_begin + row_of(i, h);
      if (row >= tile.rows) continue;
      const RowPlace place = place_of(tile, row);
      const RowResult result = result_of(state, params, i, h);
      Element* to = o_row(params, tile, place);
      const bool paired = ((unsigned long long)to & 3) == 0;
#pragma unroll
      for (int j = 0; j < kOTiles; ++j) {
        const int column = column_of(j);
        if (kHeadDimV < kWarpsN * kColumns && column >= kHeadDimV) break;
        const unsigned pair = pack(out.value[i][j][2 * h] * result.inverse, out.value[i][j][2 * h + 1] * result.inverse);
        if (paired) {
          *(unsigned*)(to + column) = pair;
        } else {
          to[column] = (Element)pair;
          to[column + 1] = (Element)(pair >> 16);
        }
      }
//% if lse
      if (warp_n() == 0 && lane() % 4 == 0) store_lse(params, tile, place, result.lse);
//% endif
    }
  }
}
