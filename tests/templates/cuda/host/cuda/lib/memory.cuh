// Host side of templates/cuda/lib/memory.cuh. A misaligned vector access traps, as the device would.
struct alignas(16) Words4 {
  unsigned word[4];
};
struct alignas(16) Float4 {
  float value[4];
};
FFPA_DEVICE const void* aligned_16(const void* address) {
  if ((uintptr_t)address % 16 != 0) __builtin_trap();
  return address;
}
FFPA_DEVICE Words4 ld_global_nc_v4(const void* from) { return *(const Words4*)aligned_16(from); }
FFPA_DEVICE Float4 ld_shared_v4(const float* from) { return *(const Float4*)aligned_16(from); }
FFPA_DEVICE void st_shared_v4(float* to, const Float4& from) { *(Float4*)const_cast<void*>(aligned_16(to)) = from; }
