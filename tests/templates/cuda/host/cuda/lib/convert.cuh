// Host side of templates/cuda/lib/convert.cuh.
FFPA_DEVICE float cvt_f32_f16(unsigned short bits) {
  _Float16 half;
  memcpy(&half, &bits, 2);
  return (float)half;
}
FFPA_DEVICE unsigned short cvt_rn_f16_f32(float value) {
  const _Float16 half = (_Float16)value;
  unsigned short bits;
  memcpy(&bits, &half, 2);
  return bits;
}
FFPA_DEVICE float cvt_f32_bf16(unsigned short bits) { return __builtin_bit_cast(float, (unsigned)bits << 16); }
FFPA_DEVICE unsigned short cvt_rn_bf16_f32(float value) {
  const unsigned bits = __builtin_bit_cast(unsigned, value);
  if (value != value) return 0x7fff;
  return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
