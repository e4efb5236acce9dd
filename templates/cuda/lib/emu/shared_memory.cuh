// Shared memory by its 32-bit address in the .shared state space, emulated. PTX ISA, "State Spaces", "cvta", "ld", "st".

// Where the launch's dynamic shared memory starts.
FFPA_DEVICE unsigned dynamic_shared() { return ffpa_emu_shared_address(ffpa_emu_self()->dynamic_shared); }

// ld.shared.u16, u32, f32
FFPA_DEVICE unsigned short ld_shared_u16(unsigned address) {
  unsigned short value;
  ffpa_emu_load_shared(&value, address, 2);
  return value;
}
FFPA_DEVICE unsigned ld_shared_u32(unsigned address) {
  unsigned value;
  ffpa_emu_load_shared(&value, address, 4);
  return value;
}
FFPA_DEVICE float ld_shared_f32(unsigned address) {
  float value;
  ffpa_emu_load_shared(&value, address, 4);
  return value;
}

// ld.shared.v2.f32, 8-byte aligned.
struct Floats2 {
  float value[2];
};
FFPA_DEVICE Floats2 ld_shared_v2_f32(unsigned address) {
  Floats2 to;
  ffpa_emu_load_shared(&to, address, 8);
  return to;
}

// ld.shared.v4.u32, 16-byte aligned.
FFPA_DEVICE Words4 ld_shared_v4_u32(unsigned address) {
  Words4 to;
  ffpa_emu_load_shared(&to, address, 16);
  return to;
}

// st.shared.u16, u32, f32
FFPA_DEVICE void st_shared_u16(unsigned address, unsigned short value) { ffpa_emu_store_shared(address, &value, 2); }
FFPA_DEVICE void st_shared_u32(unsigned address, unsigned value) { ffpa_emu_store_shared(address, &value, 4); }
FFPA_DEVICE void st_shared_f32(unsigned address, float value) { ffpa_emu_store_shared(address, &value, 4); }
