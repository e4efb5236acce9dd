// Single floating-point instructions. PTX ISA, "Floating Point Instructions".

// ex2.approx.ftz.f32: 2^x, relative error at most 2^-22; ex2(-inf) = 0, results below 2^-126 are 0.
FFPA_DEVICE float ex2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// max.f32: NaN loses against a number.
FFPA_DEVICE float max_f32(float a, float b) {
  float y;
  asm("max.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}

// fma.rn.f32: a * b + c with one rounding.
FFPA_DEVICE float fma_rn(float a, float b, float c) {
  float y;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(y) : "f"(a), "f"(b), "f"(c));
  return y;
}

// abs.f32
FFPA_DEVICE float abs_f32(float x) {
  float y;
  asm("abs.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
