// S = Q K^T and O += P V of cuda/wgmma_rows.cu.j2: issued here, waited for by the caller.

// Values in the order of wgmma's accumulators: 4 j + 2 h + e is of column_of(j) + e in row_of(h).
struct ScoreTile {
  float value[kBlockN / 2];
};
struct OutTile {
  float value[kHeadDimV / 2];
};
// P as A operands: [16 keys][register].
struct ProbTile {
  unsigned value[kBlockN / 16][4];
};

// Of O's columns, so many from `first` on: what one wgmma computes, of at most 256.
template <int kPartColumns>
FFPA_DEVICE float (&part_of(OutTile& out, int first))[kPartColumns / 2] {
  return *(float(*)[kPartColumns / 2])(out.value + first / 2);
}

FFPA_DEVICE void qk(ScoreTile& scores, unsigned q_tile, unsigned smem, const KPlace& place) {
  constexpr unsigned kHigh = wgmma_descriptor_high(1024, kWgmmaSwizzle128);
  const unsigned q = wgmma_descriptor_low(q_tile, 16);
  const unsigned k = wgmma_descriptor_low(smem + kKBegin + place.slot * kKBytes, 16);
#pragma unroll
  for (int step = 0; step < (kHeadDim + 15) / 16; ++step) {
    const unsigned in_block = step % 4 * 2;  // 32 bytes of 128
    wgmma_m64n{{ block_n }}k16_f32_{{ type }}<false, false>(scores.value, wgmma_descriptor(q + step / 4 * (64 * 128 / 16) + in_block, kHigh),
                                             wgmma_descriptor(k + step / 4 * (kBlockN * 128 / 16) + in_block, kHigh), step > 0);
  }
  wgmma_commit_group();
}

FFPA_DEVICE void pv(OutTile& out, const ProbTile& probs, unsigned smem, const VPlace& place) {
  constexpr unsigned kHigh = wgmma_descriptor_high(1024, kWgmmaSwizzle128);
  const unsigned v = wgmma_descriptor_low(smem + kVBegin + place.slot * kVBytes, kBlockN * 128);
#pragma unroll
  for (int step = 0; step < kBlockN / 16; ++step) {
    const unsigned (&p)[4] = probs.value[step];
//% for part in out_parts
    wgmma_m64n{{ part.columns }}k16_f32_{{ type }}<true>(part_of<{{ part.columns }}>(out, {{ 64 * part.block }}), p[0], p[1], p[2], p[3],
                                      wgmma_descriptor(v + {{ part.block }} * (kBlockN * 128 / 16) + step * (16 * 128 / 16), kHigh), true);
//% endfor
  }
  wgmma_commit_group();
}
