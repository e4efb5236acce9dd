// Softmax of the `sdpa` family: from Q K^T in shared memory to weights there, with what masks, biases, modifiers and
// dropout do to a score. Included by sdpa_forward.cu.j2, whose context it reads.

// Scale, softcap, modifier and bias of row r's score; -infinity where the row does not see the key, whatever Q K^T came
// out as.
FFPA_DEVICE float mask_score(float score, const ForwardParams& params, const Tile& tile, int q, int key,
                             const KeyRange& visible) {
  bool shown = key >= visible.begin && key < visible.end;
  score *= params.softmax_scale;
//% if softcap
  score = params.softcap * tanhf(score / params.softcap);
//% endif
//% if modifier
  if (shown) {
    score = modifier::modified(params, score, tile.batch, tile.head, q, key, tile.seqlen_q, tile.seqlen_k);
    shown = score != -kInfinity;
  }
//% endif
//% if mask
  if (shown) {
    const long long at = tile.batch * params.mask_stride_batch + tile.head * params.mask_stride_head +
                         q * params.mask_stride_row + key * params.mask_stride_key;
    shown = params.mask[at] != 0;
  }
//% endif
//% if bias
  if (shown) {
    const long long at = tile.batch * params.bias_stride_batch + tile.head * params.bias_stride_head +
                         q * params.bias_stride_row + key * params.bias_stride_key;
    const float bias = bias_to_float(((const BiasElement*)params.bias)[at]);
    shown = bias != -kInfinity;
    score += bias;
  }
//% endif
  return shown ? score : -kInfinity;
}

// e^x for x <= 0. Scores stay in natural units, so that a bias of the lowest finite float does not overflow.
FFPA_DEVICE float exp_nonpositive(float x) {
//% if dtype == "fp32"
  // 2^(x log2 e) with the part of the product that rounding lost put back: ex2 alone would lose |x| 2^-24.
  x = x < -200.0f ? -200.0f : x;
  const float high = x * kLog2e;
  const float low = fma_rn(x, 1.925963033500e-8f, fma_rn(x, kLog2e, -high));
  const float power = ex2_approx(high);
  return fma_rn(power, low * 0.693147180559945f, power);
//% else
  return ex2_approx(x * kLog2e);
//% endif
}

// Turns the warp's scores in smem.probs into weights relative to the running maximum, and rescales what was summed
// under the old maximum. A row that has seen no key yet keeps maximum -infinity and weights 0. The rows' loop is not
// fully unrolled: masks and dropout would multiply the code. pv()'s barriers come before anyone reads the weights.
FFPA_DEVICE void online_softmax(Shared& smem, RowState& row, float (&out)[kRows][kColumns], const ForwardParams& params,
                                const Tile& tile, int kv{{ ", const PhiloxKey& philox" if dropout else "" }}) {
  float rescale = 1.0f;
#pragma unroll 2
  for (int r = 0; r < kRows; ++r) {
    const int q = tile.q_begin + warp_row() + r;
    KeyRange visible = keys_of_row(params, tile, q);
    if (q >= tile.seqlen_q) visible.end = visible.begin;
    float* probs = smem.probs[warp_row() + r];
    float scores[kKeys];
    float highest = shfl_idx(row.max, r);
    const float before = highest;
#pragma unroll
    for (int j = 0; j < kKeys; ++j) {
      const int key = lane() + 32 * j;
      scores[j] = mask_score(probs[key], params, tile, q, kv + key, visible);
      highest = max_f32(highest, scores[j]);
    }
    highest = warp_max(highest);
    const float origin = highest == -kInfinity ? 0.0f : highest;
//% if dropout
    const unsigned long long element = dropout_row(params, philox, tile.batch, tile.head, q) + (unsigned)kv;
//% endif
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < kKeys; ++j) {
      const int key = lane() + 32 * j;
      float weight = exp_nonpositive(scores[j] - origin);
      sum += weight;
//% if dropout
      const bool kept = dropout_keeps(philox.seed, element + (unsigned)key, params.dropout_p);
      weight = kept ? weight * params.dropout_scale : 0.0f;
//% endif
      probs[key] = weight;
    }
    sum = warp_sum(sum);
    const float row_rescale = exp_nonpositive(before - origin);
    if (lane() == r) {
      rescale = row_rescale;
      row.max = highest;
      row.sum = row.sum * row_rescale + sum;
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const float row_rescale = shfl_idx(rescale, r);
#pragma unroll
    for (int c = 0; c < kColumns; ++c) out[r][c] *= row_rescale;
  }
}
