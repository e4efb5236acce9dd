// Fragments of mma to shared memory. PTX ISA, "Warp Level Matrix Instructions: stmatrix": what ldmatrix.cuh reads,
// written; sm_90 and later.

FFPA_DEVICE void stmatrix_x4(unsigned address, const unsigned (&from)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], { %1, %2, %3, %4};" ::"r"(address), "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
               : "memory");
}
FFPA_DEVICE void stmatrix_x4_trans(unsigned address, const unsigned (&from)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], { %1, %2, %3, %4};" ::"r"(address), "r"(from[0]), "r"(from[1]), "r"(from[2]),
               "r"(from[3])
               : "memory");
}
