// What is done to the scores of cuda/wgmma_rows.cu.j2 before they are hidden: scale, softcap, score modifier, bias.

//% if natural
// Scale or softcap, and modifier, of one score: in natural units. {{ "capped() or cap_scores() before." if softcap else "" }}
FFPA_DEVICE float modified(float score, const ForwardParams& params, [[maybe_unused]] const Tile& tile, [[maybe_unused]] int query,
                           [[maybe_unused]] int key) {
  score *= params.{{ "softcap" if softcap else "softmax_scale" }};
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
//% elif capped
  return params.softcap * kLog2e;
//% else
  const float scale = (params.softmax_scale < 0.0f ? -params.softmax_scale : params.softmax_scale) * kLog2e;
  return scale < 1e-36f ? 1e-36f : scale;  // -infinity * 0 would be NaN; of a finite score, nothing is left
//% endif
}

// Before masks. Where nothing else touches the scores, the scale or the cap is left to the exponent, the scale up to its sign.
//% if capped
// Near scores stay as they are: online_softmax() has their tanh in its exponents. Whether they are.
//% endif
FFPA_DEVICE {{ "bool" if capped else "void" }} modify_scores(ScoreTile& scores{{ ", const Marks& marks" if bias else "" }}, const ForwardParams& params,
                               [[maybe_unused]] const Tile& tile, [[maybe_unused]] int j) {
//% if capped
  const float factor = cap_factor(params);
  const bool near = are_near<kBlockN / 2>(scores.value, 0, factor);
  if (!near) {
#pragma unroll
    for (int i = 0; i < kBlockN / 2; ++i) scores.value[i] = tanh_far(scores.value[i] * factor);
  }
  return near;
//% elif softcap
  cap_scores<kBlockN / 2>(scores.value, 0, cap_factor(params));
//% endif
//% if natural
//% if bias
  // What is -infinity hides the key. Where its score is not finite, the row's O becomes NaN, and finish() sees to it.
  const unsigned biases = marks.bias_address();
//% endif
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    [[maybe_unused]] const int query = query_of(tile, row_of(h));
#pragma unroll
    for (int i = 0; i < kSTiles; ++i) {
//% if bias
      const Floats2 bias = Marks::bias_of(biases, h, i);
//% endif
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = scores.value[4 * i + 2 * h + e];
//% if bias and not (softcap or modifier)
        score = fma_rn(score, params.softmax_scale, bias.value[e]);
//% else
        score = modified(score, params, tile, query, first_key(tile, j) + column_of(i) + e);
{{ "        score += bias.value[e];" if bias else "" }}
//% endif
      }
    }
  }
//% elif not capped
  if (params.softmax_scale >= 0.0f) return;
#pragma unroll
  for (int i = 0; i < kBlockN / 2; ++i) scores.value[i] = -scores.value[i];
//% endif
}
