// What is done to the scores of cuda/wgmma_rows.cu.j2 before they are hidden: scale, softcap, score modifier, bias.

//% if softcap
// tanh x = 1 - 2 / (1 + e^2x), which cancels where x is small: there by its series, whose next term is below 2^-28.
FFPA_DEVICE float tanh_of(float x) {
  const float square = x * x;
  float series = fma_rn(square, 62.0f / 2835.0f, -17.0f / 315.0f);
  series = fma_rn(square, series, 2.0f / 15.0f);
  series = fma_rn(square, series, -1.0f / 3.0f);
  series = fma_rn(x * square, series, x);
  const float quotient = fma_rn(-2.0f, rcp_approx(1.0f + ex2_approx(x * (2.0f * kLog2e))), 1.0f);
  return square < 0.0625f ? series : quotient;
}

//% endif
//% if natural
// Scale, softcap and modifier of one score, in this order: in natural units.
FFPA_DEVICE float modified(float score, const ForwardParams& params, [[maybe_unused]] const Tile& tile, [[maybe_unused]] int query,
                           [[maybe_unused]] int key) {
  score *= params.softmax_scale;
//% if softcap
  score = params.softcap * tanh_of(score * (1.0f / params.softcap));
//% endif
//% if modifier
  score = modifier::modified(params, score, tile.batch, tile.head, query, key, tile.seqlen_q, tile.seqlen_k);
//% endif
  return score;
}

//% endif
// What turns a difference of scores into a power of two.
FFPA_DEVICE float exponent_scale(const ForwardParams& params) {
//% if natural
  return kLog2e;
//% else
  const float scale = (params.softmax_scale < 0.0f ? -params.softmax_scale : params.softmax_scale) * kLog2e;
  return scale < 1e-36f ? 1e-36f : scale;  // -infinity * 0 would be NaN; of a finite score, nothing is left
//% endif
}

// Before masks. Where nothing else touches the scores, the scale is left to the exponent, up to its sign.
FFPA_DEVICE void modify_scores(ScoreTile& scores, [[maybe_unused]] Marks& marks, const ForwardParams& params,
                               [[maybe_unused]] const Tile& tile, [[maybe_unused]] int j) {
//% if natural
//% if bias
  marks.bias.spread();
//% endif
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int query = query_of(tile, row_of(h));
#pragma unroll
    for (int i = 0; i < kSTiles; ++i) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores.value[4 * i + 2 * h + e];
        score = modified(score, params, tile, query, first_key(tile, j) + column_of(i) + e);
//% if bias
        const float bias = marks.bias.at(h, i, e);
        score = bias == -kInfinity ? -kInfinity : score + bias;
//% endif
      }
    }
  }
//% else
  if (params.softmax_scale >= 0.0f) return;
#pragma unroll
  for (int i = 0; i < kBlockN / 2; ++i) scores.value[i] = -scores.value[i];
//% endif
}
