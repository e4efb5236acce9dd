// Tiles of cuda/wgmma_rows.cu.j2 whose keys several blocks share (cuda/wgmma_parts.cuh).

constexpr int kTileWarpgroups = kConsumers;
constexpr int kOutColumns = kHeadDimV;
FFPA_DEVICE int tile_warpgroup() { return consumer(); }

//% include "cuda/wgmma_parts.cuh"

FFPA_DEVICE void leave_part(const OutTile& out, const RowState& state, const PartPlace& place) {
#pragma unroll
  for (int i = 0; i < kHeadDimV / 2; ++i) place.values[i * 128] = out.value[i];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    place.values[(kHeadDimV / 2 + h) * 128] = state.origin[h];
    place.values[(kHeadDimV / 2 + 2 + h) * 128] = state.sum[h];
//% if lse
    place.values[(kHeadDimV / 2 + 4 + h) * 128] = state.exact[h];
//% endif
  }
}

// In the order of the parts, whoever does it. False: something is not finite; nothing is stored.
FFPA_DEVICE bool store_merged(const ForwardParams& params, const RowsWork& work, const Tile& tile) {
  const float scale = exponent_scale(params);
  if (lane() < tile.parts) st_relaxed_gpu_u64(part_place(params, work, tile, lane()).done, 0);
  const float* first = part_place(params, work, tile, 0).values;
  const long long stride = kConsumers * rows_part_floats(kHeadDimV);  // from part to part
  RowState state = no_keys_yet();
#pragma unroll 1
  for (int part = 0; part < tile.parts; ++part) {
    const float* from = first + part * stride + kHeadDimV / 2 * 128;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float origin = ld_global_cg_f32(from + h * 128);
      const float top = max_f32(origin, state.origin[h]);
      const float start = top == -kInfinity ? 0.0f : top;
      const float of_before = ex2_approx((state.origin[h] - start) * scale);
      const float of_part = ex2_approx((origin - start) * scale);
      state.sum[h] = state.sum[h] * of_before + ld_global_cg_f32(from + (2 + h) * 128) * of_part;
//% if lse
      state.exact[h] = state.exact[h] * of_before + ld_global_cg_f32(from + (4 + h) * 128) * of_part;
//% endif
      state.origin[h] = top;
    }
  }
  RowResult result[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float sum = quad_sum(state.sum[h]);
    result[h] = result_of(state.origin[h], sum, {{ "quad_sum(state.exact[h])" if lse else "sum" }}, params, head_of(tile, row_of(h)));
  }
#pragma unroll 1
  for (int group = 0; group < kGroups; ++group) {
    float value[16] = {};
#pragma unroll 1
    for (int part = 0; part < tile.parts; ++part) {
      const float* from = first + part * stride;
      float factor[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float start = state.origin[h] == -kInfinity ? 0.0f : state.origin[h];
        factor[h] = ex2_approx((ld_global_cg_f32(from + (kHeadDimV / 2 + h) * 128) - start) * scale);
      }
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        if (kHeadDimV % 32 == 0 || 16 * group + i < kHeadDimV / 2) {
          value[i] = fma_rn(ld_global_cg_f32(from + (16 * group + i) * 128), factor[i / 2 % 2], value[i]);
        }
      }
    }
//% if hides
    bool nonfinite = false;
#pragma unroll
    for (int i = 0; i < 16; ++i) nonfinite = nonfinite || is_nonfinite(value[i]);
    if (vote_any(nonfinite)) return false;
//% endif
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      store_group(o_of(params, tile, row_of(h)), value, group, h, result[h].inverse, is_row(tile, row_of(h)));
    }
  }
//% if lse
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    if (is_row(tile, row_of(h)) && lane() % 4 == 0) lse_of(params, tile, row_of(h)) = result[h].lse;
  }
//% endif
  return true;
}
