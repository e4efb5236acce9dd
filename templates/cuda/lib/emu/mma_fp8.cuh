// Matrix multiply-accumulate of a warp, emulated, of 8-bit floating point. PTX ISA, "Warp Level Matrix Instructions: mma".
// A register holds four elements. With t = lane % 4: a[0] row group, columns 4 t onwards; a[1] row group + 8; a[2], a[3]
// columns + 16; b0 rows 4 t onwards of column group, b1 rows + 16. D as in mma.cuh.

// mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32: d += A B.
FFPA_DEVICE void mma_m16n8k32_f32_e4m3(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  const unsigned b[2] = {b0, b1};
  ffpa_emu_mma({kFfpaEmuE4m3, kFfpaEmuE4m3, kFfpaEmuF32, 32}, d, a, b, d);
}

// mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32: d += A B.
FFPA_DEVICE void mma_m16n8k32_f32_e5m2(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  const unsigned b[2] = {b0, b1};
  ffpa_emu_mma({kFfpaEmuE5m2, kFfpaEmuE5m2, kFfpaEmuF32, 32}, d, a, b, d);
}
