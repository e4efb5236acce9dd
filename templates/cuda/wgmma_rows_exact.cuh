// Rows of cuda/wgmma_rows.cu.j2 once more, one by one and without tensor cores. The second product multiplies the weight 0 of a
// hidden key by its row of V, and 0 times NaN or infinity is NaN. That happens to nobody but who has such numbers behind a
// mask; it shows in O, and then the warp's 16 rows are computed here, leaving hidden keys out.

FFPA_DEVICE bool is_nonfinite(float x) { return (__builtin_bit_cast(unsigned, x) & 0x7f800000u) == 0x7f800000u; }

FFPA_DEVICE bool has_nonfinite(const OutTile& out) {
  bool found = false;
#pragma unroll
  for (int i = 0; i < kHeadDimV / 2; ++i) found = found || is_nonfinite(out.value[i]);
  return found;
}

FFPA_DEVICE float dot(const Element* a, const Element* b) {
  float sum = 0.0f;
#pragma unroll 1
  for (int i = 0; i < kHeadDim; i += 8) {
#pragma unroll
    for (int k = 0; k < 8; ++k) sum = fma_rn(to_float(a[i + k]), to_float(b[i + k]), sum);
  }
  return sum;
}

// The row's score of `key`; -infinity: it does not see the key.
FFPA_DEVICE float exact_score(const ForwardParams& params, const Tile& tile, const Element* q, const Element* k, int query, int key) {
  float score = dot(q, k);
//% if softcap
  score = capped(score, cap_factor(params));
//% endif
//% if natural
  score = modified(score, params, tile, query, key);
//% elif not softcap
  score = params.softmax_scale < 0.0f ? -score : score;
//% endif
//% if bias
  const float bias = {{ "" if bias == "fp32" else "to_float" }}(*additive_mask(params, tile).at(query, key));
  score = bias == -kInfinity ? -kInfinity : score + bias;
//% endif
//% if mask
  if (!*boolean_mask(params, tile).at(query, key)) score = -kInfinity;
//% endif
  return score;
}

// By all lanes of a warp: each a key of 32, then each its columns.
FFPA_DEVICE void exact_row(const ForwardParams& params, const Tile& tile, int row) {
  const int query = position_of(tile, row);
  const int head = head_of(tile, row);
  constexpr int kColumnsOfLane = (kHeadDimV + 31) / 32;
  const Element* q = (const Element*)params.q + offset_of(tile, head, tile.q_row + query, params.q_stride_batch, params.q_stride_head, params.q_stride_row);
  const Element* k0 = (const Element*)params.k + offset_of(tile, tile.kv_head, tile.k_row, params.k_stride_batch, params.k_stride_head, params.k_stride_row);
  const Element* v0 = (const Element*)params.v + offset_of(tile, tile.kv_head, tile.k_row, params.v_stride_batch, params.v_stride_head, params.v_stride_row);
  const KeyRange visible = keys_of_row(params, tile, query);
  const float scale = exponent_scale(params);
//% if dropout
  const PhiloxKey philox = philox_key(params);
  const unsigned long long element = dropout_row(params, philox, tile.batch, head, query);
//% endif
  float out[kColumnsOfLane] = {};
  float origin = -kInfinity;
  float sum = 0.0f;
#pragma unroll 1
  for (int first = visible.begin; first < visible.end; first += 32) {
    const int key = first + lane();
    const float score = key < visible.end ? exact_score(params, tile, q, k0 + key * params.k_stride_row, query, key) : -kInfinity;
    const float top = max_f32(origin, warp_max(score));
    const float factor = origin == -kInfinity ? 0.0f : ex2_approx((origin - top) * scale);
    const float weight = score == -kInfinity ? 0.0f : ex2_approx((score - top) * scale);
    origin = top;
    sum = sum * factor + weight;
#pragma unroll
    for (int i = 0; i < kColumnsOfLane; ++i) out[i] *= factor;
    float placed = to_float((Element)pack(weight, 0.0f));
//% if dropout
    if (!dropout_keeps(philox.seed, element + (unsigned)key, params.dropout_p)) placed = 0.0f;
//% endif
#pragma unroll 1
    for (unsigned from = 0; from < 32; ++from) {
      if (shfl_idx(score, from) == -kInfinity) continue;
      const float of_key = shfl_idx(placed, from);
      const Element* v = v0 + (first + (int)from) * params.v_stride_row;
#pragma unroll
      for (int i = 0; i < kColumnsOfLane; ++i) {
        const int column = 32 * i + lane();
        if (column < kHeadDimV) out[i] = fma_rn(of_key, to_float(v[column]), out[i]);
      }
    }
  }
  const RowResult result = result_of(origin, warp_sum(sum), warp_sum(sum), params, head);
  Element* to = o_of(params, tile, row);
#pragma unroll
  for (int i = 0; i < kColumnsOfLane; ++i) {
    const int column = 32 * i + lane();
    if (column < kHeadDimV) to[column] = (Element)pack(out[i] * result.inverse, 0.0f);
  }
//% if lse
  if (lane() == 0) lse_of(params, tile, row) = result.lse;
//% endif
}

FFPA_DEVICE void store_exactly(const ForwardParams& params, const Tile& tile) {
#pragma unroll 1
  for (int i = 0; i < 16; ++i) {
    const int row = consumer() * 64 + warp() * 16 + i;
    if (is_row(tile, row)) exact_row(params, tile, row);
  }
}
