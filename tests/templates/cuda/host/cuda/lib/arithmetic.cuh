// Host side of templates/cuda/lib/arithmetic.cuh.
FFPA_DEVICE float ex2_approx(float x) { return exp2f(x); }
FFPA_DEVICE float max_f32(float a, float b) { return fmaxf(a, b); }
FFPA_DEVICE float fma_rn(float a, float b, float c) { return fmaf(a, b, c); }
