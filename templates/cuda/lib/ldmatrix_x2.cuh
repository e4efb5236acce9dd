// ldmatrix of one and two matrices: as in ldmatrix.cuh, addresses from lanes 0 to 7 and 0 to 15; sm_75 and later.

FFPA_DEVICE void ldmatrix_x1(unsigned (&to)[1], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 { %0}, [%1];" : "=r"(to[0]) : "r"(address) : "memory");
}
FFPA_DEVICE void ldmatrix_x1_trans(unsigned (&to)[1], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 { %0}, [%1];" : "=r"(to[0]) : "r"(address) : "memory");
}
FFPA_DEVICE void ldmatrix_x2(unsigned (&to)[2], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 { %0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "r"(address) : "memory");
}
FFPA_DEVICE void ldmatrix_x2_trans(unsigned (&to)[2], unsigned address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 { %0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "r"(address) : "memory");
}
