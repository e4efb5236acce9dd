// Matrix multiply-accumulate of a warp of 8-bit integers, sums modulo 2^32. PTX ISA, "Warp Level Matrix Instructions: mma"; sm_80 and later.
// Fragments as in mma_fp8.cuh. D as in mma.cuh.

// mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32: d += A B.
FFPA_DEVICE void mma_m16n8k32_s32_s8(int (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 { %0, %1, %2, %3}, { %4, %5, %6, %7}, { %8, %9}, { %0, %1, %2, %3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32: d += A B.
FFPA_DEVICE void mma_m16n8k32_s32_u8_s8(int (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 { %0, %1, %2, %3}, { %4, %5, %6, %7}, { %8, %9}, { %0, %1, %2, %3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
