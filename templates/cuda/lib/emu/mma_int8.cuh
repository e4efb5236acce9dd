// Matrix multiply-accumulate of a warp, emulated, of 8-bit integers, sums modulo 2^32. PTX ISA, "Warp Level Matrix Instructions: mma".
// Fragments as in mma_fp8.cuh. D as in mma.cuh.

// mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32: d += A B.
FFPA_DEVICE void mma_m16n8k32_s32_s8(int (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  const unsigned b[2] = {b0, b1};
  ffpa_emu_mma({kFfpaEmuS8, kFfpaEmuS8, kFfpaEmuS32, 32}, d, a, b, d);
}

// mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32: d += A B.
FFPA_DEVICE void mma_m16n8k32_s32_u8_s8(int (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  const unsigned b[2] = {b0, b1};
  ffpa_emu_mma({kFfpaEmuU8, kFfpaEmuS8, kFfpaEmuS32, 32}, d, a, b, d);
}
