// Two fp32 values to one register of 16-bit elements, emulated. PTX ISA, "Data Movement and Conversion Instructions:
// cvt".

// cvt.rn.bf16x2.f32: to nearest even; `low` goes to the lower half.
FFPA_DEVICE unsigned cvt_rn_bf16x2_f32(float low, float high) {
  return ffpa_emu_bf16_bits(low) | (unsigned)ffpa_emu_bf16_bits(high) << 16;
}

// cvt.rn.f16x2.f32: to nearest even, overflow gives infinity; `low` goes to the lower half.
FFPA_DEVICE unsigned cvt_rn_f16x2_f32(float low, float high) {
  return ffpa_emu_f16_bits(low) | (unsigned)ffpa_emu_f16_bits(high) << 16;
}
