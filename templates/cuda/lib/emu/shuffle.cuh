// Exchange of registers within a warp, emulated. PTX ISA, "Data Movement and Conversion Instructions: shfl.sync".

// shfl.sync.bfly.b32: the value that lane (own lane XOR lane_mask) brought. All 32 lanes take part.
FFPA_DEVICE float shfl_bfly(float value, unsigned lane_mask) {
  unsigned valid;
  return __builtin_bit_cast(float, ffpa_emu_shuffle(kFfpaEmuShuffleBfly, __builtin_bit_cast(unsigned, value), lane_mask, 0x1f, 0xffffffffu, &valid));
}

// shfl.sync.idx.b32: the value that lane `source` brought. All 32 lanes take part.
FFPA_DEVICE float shfl_idx(float value, unsigned source) {
  unsigned valid;
  return __builtin_bit_cast(float, ffpa_emu_shuffle(kFfpaEmuShuffleIdx, __builtin_bit_cast(unsigned, value), source, 0x1f, 0xffffffffu, &valid));
}

// Reductions over the warp by five butterflies; every lane gets the result. max skips NaN, as max.f32 does.
FFPA_DEVICE float warp_max(float value) {
  for (unsigned lane_mask = 16; lane_mask > 0; lane_mask >>= 1) {
    value = max_f32(value, shfl_bfly(value, lane_mask));
  }
  return value;
}

FFPA_DEVICE float warp_sum(float value) {
  for (unsigned lane_mask = 16; lane_mask > 0; lane_mask >>= 1) value += shfl_bfly(value, lane_mask);
  return value;
}
