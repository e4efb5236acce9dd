// Matrix multiply-accumulate of a warp with fp16 accumulation. PTX ISA, "Warp Level Matrix Instructions: mma"; sm_80 and later.
// A and B as in mma.cuh. Two fp16 to a register; d[0] is row group, d[1] row group + 8, columns pair, pair + 1.

// mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16: d += A B.
FFPA_DEVICE void mma_m16n8k16_f16_f16(unsigned (&d)[2], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 { %0, %1}, { %2, %3, %4, %5}, { %6, %7}, { %0, %1};"
               : "+r"(d[0]), "+r"(d[1])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
