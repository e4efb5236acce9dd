// Atomic operations on shared memory by its address. PTX ISA, "Parallel Synchronization and Communication Instructions: atom,
// red"; sm_75 and later.

// red.shared.add.{u32,f32}: fp32 to nearest.
FFPA_DEVICE void red_add_shared_u32(unsigned address, unsigned value) {
  asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
FFPA_DEVICE void red_add_shared_f32(unsigned address, float value) {
  asm volatile("red.shared.add.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}

// atom.shared.{add.u32,max.s32,cas.b32}: return what was there.
FFPA_DEVICE unsigned atom_add_shared_u32(unsigned address, unsigned value) {
  unsigned before;
  asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(before) : "r"(address), "r"(value) : "memory");
  return before;
}
FFPA_DEVICE int atom_max_shared_s32(unsigned address, int value) {
  int before;
  asm volatile("atom.shared.max.s32 %0, [%1], %2;" : "=r"(before) : "r"(address), "r"(value) : "memory");
  return before;
}
FFPA_DEVICE unsigned atom_cas_shared_b32(unsigned address, unsigned expected, unsigned value) {
  unsigned before;
  asm volatile("atom.shared.cas.b32 %0, [%1], %2, %3;" : "=r"(before) : "r"(address), "r"(expected), "r"(value) : "memory");
  return before;
}
