// Vector loads and stores. PTX ISA, "Data Movement and Conversion Instructions: ld, ld.global.nc, st".

struct alignas(16) Words4 {
  unsigned word[4];
};

struct alignas(16) Float4 {
  float value[4];
};

// ld.global.nc.v4.u32: 16 bytes from memory that nobody writes while the kernel runs; 16-byte aligned.
FFPA_DEVICE Words4 ld_global_nc_v4(const void* from) {
  Words4 to;
  asm("ld.global.nc.v4.u32 { %0, %1, %2, %3 }, [%4];"
      : "=r"(to.word[0]), "=r"(to.word[1]), "=r"(to.word[2]), "=r"(to.word[3])
      : "l"(from));
  return to;
}

// ld.shared.v4.f32 and st.shared.v4.f32: 16-byte aligned. Eight lanes at a time reach distinct banks when their
// rows are an odd multiple of 16 bytes apart.
FFPA_DEVICE Float4 ld_shared_v4(const float* from) { return *(const Float4*)from; }
FFPA_DEVICE void st_shared_v4(float* to, const Float4& from) { *(Float4*)to = from; }
