// PTX ISA, "Floating Point Instructions: rcp.approx.ftz.f32", emulated.

// rcp.approx.ftz.f32: 1 / x; denormal numbers are 0, on both sides.
FFPA_DEVICE float rcp_approx(float x) {
  if (fabsf(x) < 1.17549435e-38f) x = __builtin_copysignf(0.0f, x);
  const float y = 1.0f / x;
  return fabsf(y) < 1.17549435e-38f ? __builtin_copysignf(0.0f, y) : y;
}
