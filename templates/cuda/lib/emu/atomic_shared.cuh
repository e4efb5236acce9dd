// Atomic operations on shared memory by its address, emulated; a block's threads take turns. PTX ISA, "Parallel
// Synchronization and Communication Instructions: atom, red".

FFPA_EMU_CALL void* ffpa_emu_shared_atomic(unsigned address) {
  void* memory = ffpa_emu->shared_memory(FFPA_EMU_HERE, address, 4);
  ffpa_emu->atomic(FFPA_EMU_HERE, memory, 4);
  return memory;
}
FFPA_EMU_PLAIN static unsigned ffpa_emu_replace_u32(void* memory, unsigned value) {
  const unsigned before = *(unsigned*)memory;
  *(unsigned*)memory = value;
  return before;
}
FFPA_EMU_PLAIN static unsigned ffpa_emu_word(const void* memory) { return *(const unsigned*)memory; }

// red.shared.add.{u32,f32}
FFPA_DEVICE void red_add_shared_u32(unsigned address, unsigned value) {
  void* memory = ffpa_emu_shared_atomic(address);
  ffpa_emu_replace_u32(memory, ffpa_emu_word(memory) + value);
}
FFPA_DEVICE void red_add_shared_f32(unsigned address, float value) { ffpa_emu_add_f32((float*)ffpa_emu_shared_atomic(address), value); }

// atom.shared.{add.u32,max.s32,cas.b32}
FFPA_DEVICE unsigned atom_add_shared_u32(unsigned address, unsigned value) {
  void* memory = ffpa_emu_shared_atomic(address);
  return ffpa_emu_replace_u32(memory, ffpa_emu_word(memory) + value);
}
FFPA_DEVICE int atom_max_shared_s32(unsigned address, int value) {
  void* memory = ffpa_emu_shared_atomic(address);
  const int before = (int)ffpa_emu_word(memory);
  ffpa_emu_replace_u32(memory, (unsigned)(before > value ? before : value));
  return before;
}
FFPA_DEVICE unsigned atom_cas_shared_b32(unsigned address, unsigned expected, unsigned value) {
  void* memory = ffpa_emu_shared_atomic(address);
  const unsigned before = ffpa_emu_word(memory);
  if (before == expected) ffpa_emu_replace_u32(memory, value);
  return before;
}
