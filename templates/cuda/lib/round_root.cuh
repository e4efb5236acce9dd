// Square root and rounding to whole numbers. PTX ISA, "Floating Point Instructions: sqrt" and "Data Movement and
// Conversion Instructions: cvt".

// sqrt.rn.f32: correctly rounded; NaN for a negative number.
FFPA_DEVICE float sqrt_rn(float x) {
  float y;
  asm("sqrt.rn.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// cvt.rmi.f32.f32: the largest whole number that is not above x.
FFPA_DEVICE float cvt_rmi_f32(float x) {
  float y;
  asm("cvt.rmi.f32.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
