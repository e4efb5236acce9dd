// PTX ISA, "Floating Point Instructions: rcp.approx.ftz.f32".

// rcp.approx.ftz.f32: 1 / x, at most 1 ulp off; rcp(inf) = 0.
FFPA_DEVICE float rcp_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
