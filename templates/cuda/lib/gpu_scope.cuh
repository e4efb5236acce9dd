// Words that blocks show each other. PTX ISA, "Memory Consistency Model", "fence", "ld", "st"; sm_70 and later.

// fence.sc.gpu: of two threads that each write a word, pass this and read the other's word, one at least sees it written.
FFPA_DEVICE void fence_sc_gpu() { asm volatile("fence.sc.gpu;" ::: "memory"); }

// ld.relaxed.gpu.global.u64
FFPA_DEVICE unsigned long long ld_relaxed_gpu_u64(const unsigned long long* address) {
  unsigned long long value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

// st.relaxed.gpu.global.u64
FFPA_DEVICE void st_relaxed_gpu_u64(unsigned long long* address, unsigned long long value) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(address), "l"(value) : "memory");
}
