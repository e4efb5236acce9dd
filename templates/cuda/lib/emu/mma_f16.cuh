// Matrix multiply-accumulate of a warp, emulated, with fp16 accumulation. PTX ISA, "Warp Level Matrix Instructions: mma".
// A and B as in mma.cuh. Two fp16 to a register; d[0] is row group, d[1] row group + 8, columns pair, pair + 1.

// mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16: d += A B.
FFPA_DEVICE void mma_m16n8k16_f16_f16(unsigned (&d)[2], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  const unsigned b[2] = {b0, b1};
  ffpa_emu_mma({kFfpaEmuF16, kFfpaEmuF16, kFfpaEmuF16, 16}, d, a, b, d);
}
