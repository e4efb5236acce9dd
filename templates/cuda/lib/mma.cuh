// Matrix multiply-accumulate of a warp. PTX ISA, "Warp Level Matrix Instructions: mma", fragments as in "Matrix
// Fragments for mma.m16n8k16 with floating point type"; sm_80 and later.
//
// With group = lane / 4 and pair = 2 (lane % 4), a register holds two 16-bit elements, the lower one first:
//   A [16 x 16]  a[0] row group, columns pair, pair + 1; a[1] row group + 8; a[2], a[3] the same rows, columns + 8
//   B [16 x 8]   b0 rows pair, pair + 1 of column group; b1 rows + 8
//   D [16 x 8]   d[0], d[1] row group, columns pair, pair + 1; d[2], d[3] row group + 8

// mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32: d += A B.
FFPA_DEVICE void mma_m16n8k16_f32_bf16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 { %0, %1, %2, %3}, { %4, %5, %6, %7}, { %8, %9}, "
      "{ %0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32: d += A B.
FFPA_DEVICE void mma_m16n8k16_f32_f16(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 { %0, %1, %2, %3}, { %4, %5, %6, %7}, { %8, %9}, "
      "{ %0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
