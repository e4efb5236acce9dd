// Matrix multiply-accumulate of a warp of tf32. PTX ISA, "Warp Level Matrix Instructions: mma"; sm_80 and later.
// A register holds one element, of whose 32 bits the lower 13 are not looked at. With t = lane % 4: a[0] row group,
// column t; a[1] row group + 8; a[2], a[3] column t + 4; b0 row t of column group, b1 row t + 4. D as in mma.cuh.

// mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32: d += A B.
FFPA_DEVICE void mma_m16n8k8_f32_tf32(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 { %0, %1, %2, %3}, { %4, %5, %6, %7}, { %8, %9}, { %0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
