// Square root and rounding to whole numbers, emulated. PTX ISA, "Floating Point Instructions: sqrt" and "Data Movement
// and Conversion Instructions: cvt".

// sqrt.rn.f32: correctly rounded; NaN for a negative number.
FFPA_DEVICE float sqrt_rn(float x) { return __builtin_elementwise_sqrt(x); }

// cvt.rmi.f32.f32: the largest whole number that is not above x. Numbers from 2^23 on are whole.
FFPA_DEVICE float cvt_rmi_f32(float x) {
  if (!(x > -8388608.0f && x < 8388608.0f)) return x;
  const float toward_zero = (float)(int)x;
  const float whole = toward_zero > x ? toward_zero - 1.0f : toward_zero;
  return __builtin_copysignf(whole, x);
}
