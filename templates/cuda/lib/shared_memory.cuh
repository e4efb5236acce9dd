// Shared memory by its 32-bit address in the .shared state space. PTX ISA, "State Spaces", "cvta", "ld", "st".

// Where the launch's dynamic shared memory starts; at least 16-byte aligned.
FFPA_DEVICE unsigned dynamic_shared() {
  extern __shared__ Words4 ffpa_dynamic_shared[];
  unsigned address;
  asm("{ .reg .u64 shared; cvta.to.shared.u64 shared, %1; cvt.u32.u64 %0, shared; }"
      : "=r"(address)
      : "l"(ffpa_dynamic_shared));
  return address;
}

// ld.shared.u16
FFPA_DEVICE unsigned short ld_shared_u16(unsigned address) {
  unsigned short value;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(address) : "memory");
  return value;
}

// ld.shared.u32
FFPA_DEVICE unsigned ld_shared_u32(unsigned address) {
  unsigned value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

// ld.shared.f32
FFPA_DEVICE float ld_shared_f32(unsigned address) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
  return value;
}

// ld.shared.v2.f32, 8-byte aligned.
struct Floats2 {
  float value[2];
};
FFPA_DEVICE Floats2 ld_shared_v2_f32(unsigned address) {
  Floats2 to;
  asm volatile("ld.shared.v2.f32 { %0, %1}, [%2];" : "=f"(to.value[0]), "=f"(to.value[1]) : "r"(address) : "memory");
  return to;
}

// ld.shared.v4.u32, 16-byte aligned.
FFPA_DEVICE Words4 ld_shared_v4_u32(unsigned address) {
  Words4 to;
  asm volatile("ld.shared.v4.u32 { %0, %1, %2, %3}, [%4];"
               : "=r"(to.word[0]), "=r"(to.word[1]), "=r"(to.word[2]), "=r"(to.word[3])
               : "r"(address)
               : "memory");
  return to;
}

// st.shared.u16, st.shared.u32, st.shared.f32
FFPA_DEVICE void st_shared_u16(unsigned address, unsigned short value) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(value) : "memory");
}
FFPA_DEVICE void st_shared_u32(unsigned address, unsigned value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
FFPA_DEVICE void st_shared_f32(unsigned address, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}
