// Words that blocks show each other, emulated. PTX ISA, "Memory Consistency Model", "fence", "ld", "st".

FFPA_EMU_CALL void ffpa_emu_fence_sc() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
FFPA_DEVICE void fence_sc_gpu() { ffpa_emu_fence_sc(); }

FFPA_DEVICE unsigned long long ld_relaxed_gpu_u64(const unsigned long long* address) {
  unsigned long long value;
  ffpa_emu_load(&value, address, 8);
  return value;
}
FFPA_DEVICE void st_relaxed_gpu_u64(unsigned long long* address, unsigned long long value) {
  ffpa_emu_store(address, &value, 8);
}
