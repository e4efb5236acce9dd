// Atomic operations and fences between blocks. PTX ISA, "Parallel Synchronization and Communication Instructions: atom, fence"; sm_70 and later.

// atom.global.add.u32 with acquire-release order at the device: returns what was there.
FFPA_DEVICE unsigned atom_add_acq_rel_gpu_u32(unsigned* address, unsigned value) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(address), "r"(value) : "memory");
  return before;
}

// fence.acq_rel.gpu: with an atomic after it or before it, this thread's writes are seen by, or the other's writes seen of, a thread of another block.
FFPA_DEVICE void fence_acq_rel_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

// ld.global.cg.f32: past L1, so that what another block wrote is seen after a fence.
FFPA_DEVICE float ld_global_cg_f32(const float* address) {
  float value;
  asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(address) : "memory");
  return value;
}
