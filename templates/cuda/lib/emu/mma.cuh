// Matrix multiply-accumulate of a warp, emulated. PTX ISA, "Warp Level Matrix Instructions: mma"; fragments as in
// "Matrix Fragments for mma.m16n8k16 with floating point type".

// mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32: d += A B.
FFPA_DEVICE void mma_m16n8k16_f32_bf16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  const unsigned b[2] = {b0, b1};
  ffpa_emu_mma({kFfpaEmuBf16, kFfpaEmuBf16, kFfpaEmuF32, 16}, d, a, b, d);
}

// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32: d += A B.
FFPA_DEVICE void mma_m16n8k16_f32_f16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  const unsigned b[2] = {b0, b1};
  ffpa_emu_mma({kFfpaEmuF16, kFfpaEmuF16, kFfpaEmuF32, 16}, d, a, b, d);
}
