// Atomic operations and fences between blocks, emulated. PTX ISA, "Parallel Synchronization and Communication Instructions:
// atom, fence".

FFPA_EMU_CALL unsigned ffpa_emu_atomic_add(unsigned* address, unsigned value) {
  ffpa_emu->atomic(FFPA_EMU_HERE, address, 4);
  return __atomic_fetch_add(address, value, __ATOMIC_ACQ_REL);
}

// atom.global.add.u32 with acquire-release order at the device: returns what was there.
FFPA_DEVICE unsigned atom_add_acq_rel_gpu_u32(unsigned* address, unsigned value) { return ffpa_emu_atomic_add(address, value); }

// fence.acq_rel.gpu
FFPA_EMU_CALL void ffpa_emu_fence_acq_rel() { __atomic_thread_fence(__ATOMIC_ACQ_REL); }
FFPA_DEVICE void fence_acq_rel_gpu() { ffpa_emu_fence_acq_rel(); }

// ld.global.cg.f32
FFPA_DEVICE float ld_global_cg_f32(const float* address) {
  float value;
  ffpa_emu_load(&value, address, 4);
  return value;
}
