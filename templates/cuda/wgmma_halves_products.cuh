// S = Q K^T and O += P V of cuda/wgmma_halves.cu.j2, a chunk at a time: issued here, complete once the ring says so.

// The block's part of what adds up to the scores of the warpgroup's kProductKeys keys; scores of its kKeys.
struct PartialTile {
  float value[kProductKeys / 2];  // [n-tile][half][pair]
};
struct ScoreTile {
  float value[4 * kSTiles];
};
struct OutTile {
  float value[4 * kOTiles];
};

constexpr unsigned kByRows = wgmma_descriptor_high(1024, kWgmmaSwizzle128);
constexpr unsigned kOfV = wgmma_descriptor_high(kVBlock * 16, {{ "kWgmmaSwizzle128" if v_block == 64 else "kWgmmaSwizzle64" }});
constexpr unsigned kOfK = wgmma_descriptor_high(kChunkD * 16, {{ "kWgmmaSwizzle128" if chunk_d == 64 else "kWgmmaSwizzle64" }});

// partials (+)= Q K^T over the columns of chunk `chunk`.
FFPA_DEVICE void qk_chunk(PartialTile& partials, const Ring& ring, unsigned smem, int chunk) {
  mbarrier_wait(ring.full_barrier(), ring.parity);
  wgmma_fence();
  const unsigned column = (unsigned)chunk * kChunkD;
  const unsigned q = opaque(wgmma_descriptor_low(smem + column / 64 * kBlockBytes + column % 64 * 2, 0));
  const unsigned k = opaque(wgmma_descriptor_low(ring.address(), 0));
#pragma unroll
  for (int step = 0; step < kChunkD / 16; ++step) {
    wgmma_m64n{{ block_n // 2 }}k16_f32_{{ type }}<false, false>(partials.value, wgmma_descriptor(q + step * 2, kByRows),
                                                wgmma_descriptor(k + step * 2, kOfK), step > 0 || chunk > 0);
  }
  wgmma_commit_group();
}

// out += P V over the kChunkN keys from `key` on.
FFPA_DEVICE void pv_chunk(OutTile& out, const Ring& ring, unsigned smem, int key) {
  mbarrier_wait(ring.full_barrier(), ring.parity);
  wgmma_fence();
  const unsigned p = opaque(wgmma_descriptor_low(smem + kProbsBegin + key / 64 * kBlockBytes + key % 64 * 2, 0));
  const unsigned v = opaque(wgmma_descriptor_low(ring.address(), kChunkN * kVBlock * 2));
#pragma unroll
  for (int step = 0; step < kChunkN / 16; ++step) {
    wgmma_m64n{{ columns }}k16_f32_{{ type }}<false, true>(out.value, wgmma_descriptor(p + step * 2, kByRows),
                                               wgmma_descriptor(v + step * (kVBlock * 2), kOfV), true);
  }
  wgmma_commit_group();
}
