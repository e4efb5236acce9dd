// Two fp32 values to one register of 16-bit elements. PTX ISA, "Data Movement and Conversion Instructions: cvt";
// sm_80 and later.

// cvt.rn.bf16x2.f32: to nearest even; `low` goes to the lower half.
FFPA_DEVICE unsigned cvt_rn_bf16x2_f32(float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// cvt.rn.f16x2.f32: to nearest even, overflow gives infinity; `low` goes to the lower half.
FFPA_DEVICE unsigned cvt_rn_f16x2_f32(float low, float high) {
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
