// The end of cuda/wgmma_columns.cu.j2 and cuda/wgmma_halves.cu.j2: O and LSE to global memory. With own_sums, total_sums() is the
// including template's own.
struct RowResult {
  float inverse;  // turns sums into O
  float lse;      // natural
};

// A row that saw no key: O = 0, LSE = -infinity, or what the sink alone gives.
FFPA_DEVICE RowResult result_of(float origin, float sum, float exact_sum, const ForwardParams& params, [[maybe_unused]] int head) {
  const float scale = exponent_scale(params);
//% if sinks
  // A key without a value: it is relative to the row's origin like the others, if that is the higher one.
  const float sink = params.sinks[head];
  const float natural = sum == 0.0f ? -kInfinity : origin * (scale / kLog2e);
  const float top = natural > sink ? natural : sink;
  if (top == -kInfinity) return {0.0f, -kInfinity};
  const float of_keys = sum == 0.0f ? 0.0f : ex2_approx((natural - top) * kLog2e);
  const float of_sink = ex2_approx((sink - top) * kLog2e);
  return {of_keys{{ " * params.dropout_scale" if dropout else "" }} / (sum * of_keys + of_sink), top + logf(exact_sum * of_keys + of_sink)};
//% else
  if (sum == 0.0f) return {0.0f, -kInfinity};
  return { {{ "params.dropout_scale" if dropout else "1.0f" }} / sum, origin * (scale / kLog2e) + logf(exact_sum)};
//% endif
}
//% if hides

// Whether O has come out NaN or infinite in one of the warp's rows: V may have held such a value where a weight is 0.
FFPA_DEVICE bool has_nonfinite(const OutTile& out, const Tile& tile, int thread) {
  bool finite[2] = {true, true};
#pragma unroll
  for (int i = 0; i < 4 * kOTiles; ++i) finite[i / 2 % 2] = finite[i / 2 % 2] && out.value[i] - out.value[i] == 0.0f;
  return vote_any(!finite[0] && is_row(tile, row_of(0, thread)) || !finite[1] && is_row(tile, row_of(1, thread)));
}

FFPA_DEVICE float score_of(const Element* q, const Element* k, int lane) {
  float sum = 0.0f;
#pragma unroll 1
  for (int column = lane; column < kHeadDim; column += 32) sum = fma_rn(to_float(q[column]), to_float(k[column]), sum);
  return warp_sum(sum);
}

// The warp's share of O once more, key by key on CUDA cores, where a weight of 0 takes nothing from its key (0 * infinity would be
// NaN): slow, and rare. `inverse` as in store().
FFPA_DEVICE void store_guarded(const RowState& state, const float (&inverse)[2], const ForwardParams& params, const Tile& tile) {
  const int thread = thread_anew();
  constexpr int kOfLane = (kColumns + 31) / 32;
  const int first = first_column(consumer(thread));
  const int columns = kHeadDimV - first < kColumns ? kHeadDimV - first : kColumns;
  const float scale = exponent_scale(params);
//% if dropout
  const PhiloxKey philox = philox_key(params);
//% endif
#pragma unroll 1
  for (int i = 0; i < 16; ++i) {
    const int row = warp(thread) * 16 + i;
    const float origin = shfl_idx(i < 8 ? state.origin[0] : state.origin[1], i % 8 * 4);
    const float factor = shfl_idx(i < 8 ? inverse[0] : inverse[1], i % 8 * 4);
    if (!is_row(tile, row)) continue;
    const RowPlace place = place_of(tile, row);
    const KeyRange visible = keys_of_row(params, tile, place.q);
    const Element* q = (const Element*)params.q + offset_of(tile, place.head, tile.q_row + place.q, params.q_stride_batch,
                                                            params.q_stride_head, params.q_stride_row);
    float sum[kOfLane] = {};
#pragma unroll 1
    for (int key = visible.begin; key < visible.end; ++key) {
//% if mask
      if (*boolean_mask(params, tile).row_at(tile, row, key) == 0) continue;
//% endif
      float score = score_of(q, (const Element*)params.k + offset_of(tile, tile.kv_head, tile.k_row + key, params.k_stride_batch,
                                                                     params.k_stride_head, params.k_stride_row), lane(thread));
//% if natural
      score = modified(score, params, tile, place, key);
//% if bias
      const float bias = {{ "" if bias == "fp32" else "to_float" }}(*additive_mask(params, tile).row_at(tile, row, key));
      if (bias == -kInfinity) continue;
      score += bias;
//% endif
//% else
      if (params.softmax_scale < 0.0f) score = -score;
//% endif
      const float weight = to_float((Element)pack(ex2_approx((score - (origin == -kInfinity ? 0.0f : origin)) * scale), 0.0f));
//% if dropout
      if (!dropout_keeps(philox.seed, dropout_row(params, philox, tile.batch, place.head, place.q) + (unsigned)key, params.dropout_p)) continue;
//% endif
      if (weight == 0.0f) continue;
      const Element* v = (const Element*)params.v + first + offset_of(tile, tile.kv_head, tile.k_row + key, params.v_stride_batch,
                                                                      params.v_stride_head, params.v_stride_row);
#pragma unroll
      for (int j = 0; j < kOfLane; ++j) {
        if (lane(thread) + 32 * j < columns) sum[j] = fma_rn(weight, to_float(v[lane(thread) + 32 * j]), sum[j]);
      }
    }
    Element* to = (Element*)params.o + first + offset_of(tile, place.head, tile.q_row + place.q, params.o_stride_batch,
                                                         params.o_stride_head, params.o_stride_row);
#pragma unroll
    for (int j = 0; j < kOfLane; ++j) {
      if (lane(thread) + 32 * j < columns) to[lane(thread) + 32 * j] = (Element)pack(sum[j] * factor, 0.0f);
    }
  }
}
//% endif

// Through the warpgroup's ring, which is free by now, in blocks of 64 columns as Q lies, so that global memory is written in
// units of 16 bytes. A warp writes and reads its own rows only.
FFPA_DEVICE void store_tile(const OutTile& out, const float (&inverse)[2], unsigned smem, const ForwardParams& params, const Tile& tile, int thread) {
  const unsigned staged = ring_of(smem, consumer(thread)).slots;
  const unsigned row = staged + (warp(thread) * 16 + lane(thread) % 16) * 128;
#pragma unroll
  for (int i = 0; i < kOTiles / 2; ++i) {
    unsigned four[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      four[r] = pack(out.value[8 * i + 2 * r] * inverse[r % 2], out.value[8 * i + 2 * r + 1] * inverse[r % 2]);
    }
    stmatrix_x4(row + i / 4 * kBlockBytes + ((unsigned)(2 * (i % 4) + lane(thread) / 16) ^ (unsigned)lane(thread) % 8) * 16, four);
  }
  __syncwarp();
  const int first = first_column(consumer(thread));
  constexpr int kUnits = kColumns / 8;
#pragma unroll 1
  for (int piece = lane(thread); piece < 16 * kUnits; piece += 32) {
    const int from = warp(thread) * 16 + piece / kUnits;
    const int unit = piece % kUnits;
    if (first + unit * 8 >= kHeadDimV || !is_row(tile, from)) continue;
    const Words4 words = ld_shared_v4_u32(staged + unit / 8 * kBlockBytes + from * 128 + (unit % 8 ^ from % 8) * 16);
    const RowPlace place = place_of(tile, from);
    Element* to = (Element*)params.o + first + unit * 8 + offset_of(tile, place.head, tile.q_row + place.q, params.o_stride_batch,
                                                                    params.o_stride_head, params.o_stride_row);
    if (((unsigned long long)to & 15) == 0) {
      *(Words4*)to = words;
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i) to[i] = (Element)(words.word[i / 2] >> i % 2 * 16);
    }
  }
}

//% if own_sums is not defined
// Of the lane's rows, over all keys: of the weights as rounded, which O is divided by, and for LSE of the weights themselves.
FFPA_DEVICE void total_sums(float (&sum)[2], float (&exact_sum)[2], const RowState& state, unsigned smem, unsigned buffer, int thread) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    sum[h] = state.sum[h] + shfl_bfly(state.sum[h], 1);
    sum[h] += shfl_bfly(sum[h], 2);
    if (lane(thread) % 4 == 0) st_shared_f32(stats_address(smem, buffer, consumer(thread), row_of(h, thread)), sum[h]);
  }
  meet_twin(thread);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int row = row_of(h, thread);
    sum[h] += ld_shared_f32(stats_address(smem, buffer, consumer(thread) ^ 1, row));
    exact_sum[h] = {{ "ld_shared_f32(exact_sum_address(smem, 0, row)) + ld_shared_f32(exact_sum_address(smem, 1, row))" if lse else "sum[h]" }};
  }
}

//% endif
FFPA_DEVICE void store(OutTile& out, RowState& state, unsigned smem, unsigned turn, const ForwardParams& params,
                       const Tile& tile) {
  const int thread = thread_anew();
  float sum[2], exact_sum[2];
  total_sums(sum, exact_sum, state, smem, turn, thread);
//% if most_parts > 1
  if (tile.parts > 1 && !gather_last(out, state.origin, sum, exact_sum, params, tile)) return;
//% endif
  float inverse[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const RowPlace place = place_of(tile, row_of(h, thread));
    const RowResult result = result_of(state.origin[h], sum[h], exact_sum[h], params, place.head);
    inverse[h] = result.inverse;
//% if lse
    if (first_column(consumer(thread)) == 0 && lane(thread) % 4 == 0 && is_row(tile, row_of(h, thread))) {
      params.lse[offset_of(tile, place.head, tile.q_row + place.q, params.lse_stride_batch, params.lse_stride_head, 1)] = result.lse;
    }
//% endif
  }
//% if hides
  if (has_nonfinite(out, tile, thread)) {
    store_guarded(state, inverse, params, tile);
    return;
  }
//% endif
  store_tile(out, inverse, smem, params, tile, thread);
}
