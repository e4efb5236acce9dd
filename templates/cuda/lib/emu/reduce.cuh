// Atomic operations on global memory, emulated. PTX ISA, "Parallel Synchronization and Communication Instructions: atom, red".

FFPA_EMU_CALL void ffpa_emu_red_add_f32(float* address, float value) {
  ffpa_emu->atomic(FFPA_EMU_HERE, address, 4);
  ffpa_emu_add_f32(address, value);
}
FFPA_EMU_CALL unsigned ffpa_emu_atom_add_u32(unsigned* address, unsigned value) {
  ffpa_emu->atomic(FFPA_EMU_HERE, address, 4);
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
FFPA_EMU_CALL int ffpa_emu_atom_max_s32(int* address, int value) {
  ffpa_emu->atomic(FFPA_EMU_HERE, address, 4);
  return __atomic_fetch_max(address, value, __ATOMIC_RELAXED);
}
FFPA_EMU_CALL unsigned ffpa_emu_atom_cas_b32(unsigned* address, unsigned expected, unsigned value) {
  ffpa_emu->atomic(FFPA_EMU_HERE, address, 4);
  __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
FFPA_EMU_CALL unsigned ffpa_emu_atom_exch_b32(unsigned* address, unsigned value) {
  ffpa_emu->atomic(FFPA_EMU_HERE, address, 4);
  return __atomic_exchange_n(address, value, __ATOMIC_RELAXED);
}

// red.global.add.{u32,f32}
FFPA_DEVICE void red_add_global_u32(unsigned* address, unsigned value) { ffpa_emu_atom_add_u32(address, value); }
FFPA_DEVICE void red_add_global_f32(float* address, float value) { ffpa_emu_red_add_f32(address, value); }

// atom.global.{add.u32,max.s32,cas.b32,exch.b32}
FFPA_DEVICE unsigned atom_add_global_u32(unsigned* address, unsigned value) { return ffpa_emu_atom_add_u32(address, value); }
FFPA_DEVICE int atom_max_global_s32(int* address, int value) { return ffpa_emu_atom_max_s32(address, value); }
FFPA_DEVICE unsigned atom_cas_global_b32(unsigned* address, unsigned expected, unsigned value) {
  return ffpa_emu_atom_cas_b32(address, expected, value);
}
FFPA_DEVICE unsigned atom_exch_global_b32(unsigned* address, unsigned value) { return ffpa_emu_atom_exch_b32(address, value); }
