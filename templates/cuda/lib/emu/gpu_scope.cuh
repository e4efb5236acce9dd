// Words that blocks show each other, emulated. PTX ISA, "Memory Consistency Model", "fence", "ld", "st".

FFPA_EMU_CALL unsigned long long ffpa_emu_load_relaxed(const unsigned long long* address) {
  ffpa_emu->atomic(FFPA_EMU_HERE, (void*)address, 8);
  return __atomic_load_n(address, __ATOMIC_RELAXED);
}
FFPA_EMU_CALL void ffpa_emu_store_relaxed(unsigned long long* address, unsigned long long value) {
  ffpa_emu->atomic(FFPA_EMU_HERE, address, 8);
  __atomic_store_n(address, value, __ATOMIC_RELAXED);
}
FFPA_EMU_CALL void ffpa_emu_fence_sc() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// fence.sc.gpu; ld.relaxed.gpu.global.u64; st.relaxed.gpu.global.u64
FFPA_DEVICE void fence_sc_gpu() { ffpa_emu_fence_sc(); }
FFPA_DEVICE unsigned long long ld_relaxed_gpu_u64(const unsigned long long* address) { return ffpa_emu_load_relaxed(address); }
FFPA_DEVICE void st_relaxed_gpu_u64(unsigned long long* address, unsigned long long value) { ffpa_emu_store_relaxed(address, value); }
