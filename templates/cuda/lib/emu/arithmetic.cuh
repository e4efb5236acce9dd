// Single floating-point instructions, emulated. PTX ISA, "Floating Point Instructions".

// ex2.approx.ftz.f32: 2^x, denormal results are 0.
FFPA_DEVICE float ex2_approx(float x) {
  const float y = exp2f(x);
  return y < 1.17549435e-38f ? 0.0f : y;
}

// max.f32: NaN loses against a number.
FFPA_DEVICE float max_f32(float a, float b) { return fmaxf(a, b); }

// fma.rn.f32: a * b + c with one rounding.
FFPA_DEVICE float fma_rn(float a, float b, float c) { return fmaf(a, b, c); }

// abs.f32
FFPA_DEVICE float abs_f32(float x) { return fabsf(x); }
