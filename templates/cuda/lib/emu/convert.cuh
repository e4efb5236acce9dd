// Conversions between fp32 and the 16-bit storage formats, emulated. PTX ISA, "Data Movement and Conversion
// Instructions: cvt".

// cvt.f32.f16: exact.
FFPA_DEVICE float cvt_f32_f16(unsigned short bits) {
#if defined(__F16C__)
  return (float)__builtin_bit_cast(_Float16, bits);
#else
  const unsigned sign = (bits & 0x8000u) << 16;
  const unsigned magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return __builtin_bit_cast(float, sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  // The exponent's bias changes by 112; as a multiplication it serves denormal numbers too.
  const float value = __builtin_bit_cast(float, magnitude << 13) * 5.192296858534828e33f;
  return __builtin_bit_cast(float, sign | __builtin_bit_cast(unsigned, value));
#endif
}

// cvt.rn.f16.f32: to nearest even; overflow gives infinity, NaN the bits 0x7fff.
FFPA_DEVICE unsigned short cvt_rn_f16_f32(float value) { return ffpa_emu_f16_bits(value); }

// bf16 is the upper half of a float.
FFPA_DEVICE float cvt_f32_bf16(unsigned short bits) { return __builtin_bit_cast(float, (unsigned)bits << 16); }

// cvt.rn.bf16.f32: to nearest even, NaN becomes 0x7fff.
FFPA_DEVICE unsigned short cvt_rn_bf16_f32(float value) { return ffpa_emu_bf16_bits(value); }
