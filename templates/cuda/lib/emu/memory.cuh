// Vector loads and stores, emulated. PTX ISA, "Data Movement and Conversion Instructions: ld, ld.global.nc, st".

struct alignas(16) Words4 {
  unsigned word[4];
};

struct alignas(16) Float4 {
  float value[4];
};

// ld.global.nc.v4.u32: 16 bytes from memory that nobody writes while the kernel runs; 16-byte aligned.
FFPA_DEVICE Words4 ld_global_nc_v4(const void* from) {
  Words4 to;
  ffpa_emu_load(&to, from, 16);
  return to;
}

// ld.shared.v4.f32 and st.shared.v4.f32: 16-byte aligned.
FFPA_DEVICE Float4 ld_shared_v4(const float* from) {
  Float4 to;
  ffpa_emu_load(&to, from, 16);
  return to;
}
FFPA_DEVICE void st_shared_v4(float* to, const Float4& from) { ffpa_emu_store(to, &from, 16); }
