// Conversions between fp32 and the 16-bit storage formats, which are held as unsigned short so that no header is
// needed. PTX ISA, "Data Movement and Conversion Instructions: cvt".

// cvt.f32.f16: exact.
FFPA_DEVICE float cvt_f32_f16(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}

// cvt.rn.f16.f32: to nearest even; overflow gives infinity.
FFPA_DEVICE unsigned short cvt_rn_f16_f32(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}

// bf16 is the upper half of a float: mov.b32 from two 16-bit halves.
FFPA_DEVICE float cvt_f32_bf16(unsigned short bits) {
  float value;
  asm("mov.b32 %0, { %1, %2 };" : "=f"(value) : "h"((unsigned short)0), "h"(bits));
  return value;
}

//% if compute_capability >= 80
// cvt.rn.bf16.f32: to nearest even; sm_80 and later.
FFPA_DEVICE unsigned short cvt_rn_bf16_f32(float value) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
//% else
// What cvt.rn.bf16.f32 does, for sm_75, which lacks it: to nearest even, NaN becomes 0x7fff.
FFPA_DEVICE unsigned short cvt_rn_bf16_f32(float value) {
  unsigned bits;
  asm("mov.b32 %0, %1;" : "=r"(bits) : "f"(value));
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
//% endif
