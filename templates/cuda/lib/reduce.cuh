// Atomic operations on global memory in no order with other accesses. PTX ISA, "Parallel Synchronization and Communication
// Instructions: atom, red"; sm_75 and later.

// red.global.add.{u32,f32}: fp32 to nearest.
FFPA_DEVICE void red_add_global_u32(unsigned* address, unsigned value) {
  asm volatile("red.global.add.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}
FFPA_DEVICE void red_add_global_f32(float* address, float value) {
  asm volatile("red.global.add.f32 [%0], %1;" ::"l"(address), "f"(value) : "memory");
}

// atom.global.{add.u32,max.s32,cas.b32,exch.b32}: return what was there.
FFPA_DEVICE unsigned atom_add_global_u32(unsigned* address, unsigned value) {
  unsigned before;
  asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(address), "r"(value) : "memory");
  return before;
}
FFPA_DEVICE int atom_max_global_s32(int* address, int value) {
  int before;
  asm volatile("atom.global.max.s32 %0, [%1], %2;" : "=r"(before) : "l"(address), "r"(value) : "memory");
  return before;
}
FFPA_DEVICE unsigned atom_cas_global_b32(unsigned* address, unsigned expected, unsigned value) {
  unsigned before;
  asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;" : "=r"(before) : "l"(address), "r"(expected), "r"(value) : "memory");
  return before;
}
FFPA_DEVICE unsigned atom_exch_global_b32(unsigned* address, unsigned value) {
  unsigned before;
  asm volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(before) : "l"(address), "r"(value) : "memory");
  return before;
}
