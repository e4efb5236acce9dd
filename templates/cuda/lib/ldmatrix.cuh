// Fragments of mma from shared memory. PTX ISA, "Warp Level Matrix Instructions: ldmatrix"; sm_75 and later.
// Lane 8 i + r gives the address of row r of matrix i: 16 bytes, 16-byte aligned. Eight rows reach distinct banks
// when they are an odd multiple of 16 bytes apart.

// ldmatrix.sync.aligned.m8n8.x4.shared.b16: to[i] = elements 2 (lane % 4), + 1 of row lane / 4 of matrix i.
FFPA_DEVICE void ldmatrix_x4(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 { %0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

// ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16: the same of the transposed matrices.
FFPA_DEVICE void ldmatrix_x4_trans(unsigned (&to)[4], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 { %0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
