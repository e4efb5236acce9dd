// Put after a CUDA kernel that is compiled for the emulator: the callbacks of -fsanitize=thread, one before each load and store.

// Memory of the thread's own stack: its locals and registers.
static inline __attribute__((always_inline)) bool ffpa_emu_is_local(const void* memory) {
  return (((unsigned long long)memory ^ (unsigned long long)__builtin_frame_address(0)) & ~(kFfpaEmuStackBytes - 1)) == 0;
}

// Part of it may be in use by a wgmma, in kernels that have it.
#ifdef FFPA_EMU_HAS_WGMMA
#define FFPA_EMU_CHECK_LOCAL(writes, memory, bytes) \
  else if ((unsigned long long)memory - ffpa_emu_self()->watched_begin < ffpa_emu_self()->watched_bytes) { \
    ffpa_emu->watched(FFPA_EMU_HERE, memory, bytes, writes); \
  }
#else
#define FFPA_EMU_CHECK_LOCAL(writes, memory, bytes)
#endif

extern "C" {
#define FFPA_EMU_CHECK(kind, writes, memory, bytes, alignment) \
  if (!ffpa_emu_is_local(memory)) { \
    ffpa_emu->kind(FFPA_EMU_HERE, memory, bytes, alignment); \
  } \
  FFPA_EMU_CHECK_LOCAL(writes, memory, bytes)
#define FFPA_EMU_ACCESS(bytes) \
  FFPA_EMU_PLAIN void __tsan_read##bytes(void* memory) { FFPA_EMU_CHECK(read, 0, memory, bytes, bytes) } \
  FFPA_EMU_PLAIN void __tsan_write##bytes(void* memory) { FFPA_EMU_CHECK(write, 1, memory, bytes, bytes) } \
  FFPA_EMU_PLAIN void __tsan_unaligned_read##bytes(void* memory) { FFPA_EMU_CHECK(read, 0, memory, bytes, 1) } \
  FFPA_EMU_PLAIN void __tsan_unaligned_write##bytes(void* memory) { FFPA_EMU_CHECK(write, 1, memory, bytes, 1) }
FFPA_EMU_ACCESS(1)
FFPA_EMU_ACCESS(2)
FFPA_EMU_ACCESS(4)
FFPA_EMU_ACCESS(8)
FFPA_EMU_ACCESS(16)

FFPA_EMU_PLAIN void* __tsan_memcpy(void* to, const void* from, __SIZE_TYPE__ bytes) {
  if (bytes) FFPA_EMU_CHECK(read, 0, from, bytes, 1)
  if (bytes) FFPA_EMU_CHECK(write, 1, to, bytes, 1)
  return memcpy(to, from, bytes);
}
FFPA_EMU_PLAIN void* __tsan_memmove(void* to, const void* from, __SIZE_TYPE__ bytes) {
  if (bytes) FFPA_EMU_CHECK(read, 0, from, bytes, 1)
  if (bytes) FFPA_EMU_CHECK(write, 1, to, bytes, 1)
  return memmove(to, from, bytes);
}
FFPA_EMU_PLAIN void* __tsan_memset(void* to, int value, __SIZE_TYPE__ bytes) {
  if (bytes) FFPA_EMU_CHECK(write, 1, to, bytes, 1)
  return memset(to, value, bytes);
}
FFPA_EMU_PLAIN void __tsan_init() {}
FFPA_EMU_PLAIN void __tsan_func_entry(void*) {}
FFPA_EMU_PLAIN void __tsan_func_exit() {}
}
