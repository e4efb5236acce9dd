// Tiles of cuda/wgmma_columns.cu.j2 whose keys several blocks share (cuda/wgmma_parts.cuh).

constexpr int kTileWarpgroups = 2 * kCluster;
constexpr int kOutColumns = kColumns;
FFPA_DEVICE int tile_warpgroup() { return (int)rank() * 2 + consumer(); }

//% include "cuda/wgmma_parts.cuh"

// What a part has of the softmax of the lane's rows: `origin`, `sum` and `exact`, the sum of weights before rounding. Left in the
// workspace beside `out`. Whether this warp is the last of its rows to do so: then it gets all parts in one, put together in their
// order, whoever does it.
FFPA_DEVICE bool gather_last(OutTile& out, float (&origin)[2], float (&sum)[2], float (&exact)[2], const ForwardParams& params, const Tile& tile) {
  constexpr int kValues = 4 * kOTiles;
  const RowsWork work = work_of(params);
  const PartPlace own = part_place(params, work, tile, tile.part);
#pragma unroll
  for (int i = 0; i < kValues; ++i) own.values[i * 128] = out.value[i];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    own.values[(kValues + h) * 128] = origin[h];
    own.values[(kValues + 2 + h) * 128] = sum[h];
    own.values[(kValues + 4 + h) * 128] = exact[h];
    origin[h] = -kInfinity;
    sum[h] = exact[h] = 0.0f;
  }
  if (!is_last(params, work, tile, own)) return false;
  if (lane() < tile.parts) st_relaxed_gpu_u64(part_place(params, work, tile, lane()).done, 0);
  const float scale = exponent_scale(params);
  const float* from = part_place(params, work, tile, 0).values;
  out = {};
#pragma unroll 1
  for (int part = 0; part < tile.parts; ++part) {
    float of_before[2], of_part[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float* of_row = from + (kValues + h) * 128;
      const float top = max_f32(ld_global_cg_f32(of_row), origin[h]);
      const float start = top == -kInfinity ? 0.0f : top;
      of_before[h] = ex2_approx((origin[h] - start) * scale);
      of_part[h] = ex2_approx((ld_global_cg_f32(of_row) - start) * scale);
      origin[h] = top;
      sum[h] = fma_rn(sum[h], of_before[h], ld_global_cg_f32(of_row + 2 * 128) * of_part[h]);
      exact[h] = fma_rn(exact[h], of_before[h], ld_global_cg_f32(of_row + 4 * 128) * of_part[h]);
    }
#pragma unroll
    for (int i = 0; i < kValues; ++i) {
      out.value[i] = fma_rn(out.value[i], of_before[i / 2 % 2], ld_global_cg_f32(from + i * 128) * of_part[i / 2 % 2]);
    }
    from += kTileWarpgroups * rows_part_floats(kOutColumns);
  }
  return true;
}
