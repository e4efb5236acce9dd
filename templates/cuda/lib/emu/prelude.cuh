// Put before a CUDA kernel that is compiled for the emulator: the language's own words for a host C++ compiler, the
// functions that instrumented code calls, and how an image reaches the emulator. Self-contained, without headers.
//
// The kernel is compiled with -fsanitize=thread, whose callbacks instrumentation.cuh defines: every load and store of the kernel's
// own C++ is checked. __shared__ variables are emulated thread-local ones. Functions here that touch memory themselves
// are kept out of the instrumentation and of inlining, so that their return address is a place in the kernel.
//% include "cuda/lib/emu/table.h"

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __grid_constant__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __constant__ static const
#define __shared__ thread_local

#define FFPA_EMU_PLAIN __attribute__((noinline, no_sanitize("thread"), disable_sanitizer_instrumentation))
#define FFPA_EMU_CALL FFPA_EMU_PLAIN __attribute__((convergent, unused)) static
#define FFPA_EMU_HERE ffpa_emu_self(), __builtin_return_address(0)

static const FfpaEmuTable* ffpa_emu;

extern "C" FFPA_EMU_PLAIN __attribute__((visibility("default"))) unsigned long long ffpa_emu_bind(const FfpaEmuTable* table) {
  ffpa_emu = table;
  return sizeof(FfpaEmuTable);
}

static inline __attribute__((always_inline)) FfpaEmuThread* ffpa_emu_self() {
  const unsigned long long frame = (unsigned long long)__builtin_frame_address(0);
  return (FfpaEmuThread*)((frame & ~(kFfpaEmuStackBytes - 1)) + kFfpaEmuStackBytes - sizeof(FfpaEmuThread));
}

#define threadIdx (ffpa_emu_self()->thread)
#define blockIdx (ffpa_emu_self()->block)
#define blockDim (ffpa_emu_self()->block_dim)
#define gridDim (ffpa_emu_self()->grid_dim)

extern "C" {
void* memcpy(void*, const void*, __SIZE_TYPE__);
void* memmove(void*, const void*, __SIZE_TYPE__);
void* memset(void*, int, __SIZE_TYPE__);

FFPA_EMU_PLAIN void* __emutls_get_address(FfpaEmuSharedVariable* variable) { return ffpa_emu_self()->shared + variable->offset; }
}

// ---- what the wrappers in this folder are made of

FFPA_EMU_CALL void ffpa_emu_load(void* to, const void* from, unsigned bytes) {
  ffpa_emu->read(FFPA_EMU_HERE, from, bytes, bytes);
  memcpy(to, from, bytes);
}
FFPA_EMU_CALL void ffpa_emu_store(void* to, const void* from, unsigned bytes) {
  ffpa_emu->write(FFPA_EMU_HERE, to, bytes, bytes);
  memcpy(to, from, bytes);
}
FFPA_EMU_CALL unsigned ffpa_emu_shuffle(FfpaEmuShuffle kind, unsigned value, unsigned b, unsigned clamp, unsigned members, unsigned* valid) {
  return ffpa_emu->shuffle(FFPA_EMU_HERE, kind, value, b, clamp, members, valid);
}
FFPA_EMU_CALL unsigned ffpa_emu_vote(FfpaEmuVote kind, unsigned predicate, unsigned members) {
  return ffpa_emu->vote(FFPA_EMU_HERE, kind, predicate, members);
}
FFPA_EMU_CALL void ffpa_emu_bar_sync(unsigned id, unsigned count) { ffpa_emu->bar_sync(FFPA_EMU_HERE, id, count); }
FFPA_EMU_CALL void ffpa_emu_bar_arrive(unsigned id, unsigned count) { ffpa_emu->bar_arrive(FFPA_EMU_HERE, id, count); }
FFPA_EMU_CALL unsigned ffpa_emu_bar_red(FfpaEmuReduce reduce, unsigned id, unsigned count, unsigned predicate) {
  return ffpa_emu->bar_red(FFPA_EMU_HERE, reduce, id, count, predicate);
}
FFPA_EMU_CALL void ffpa_emu_warp_sync(unsigned members) { ffpa_emu->warp_sync(FFPA_EMU_HERE, members); }
FFPA_EMU_CALL unsigned ffpa_emu_shared_address(const void* memory) { return ffpa_emu->shared_address(FFPA_EMU_HERE, memory); }
FFPA_EMU_CALL void ffpa_emu_mma(const FfpaEmuMma& shape, void* d, const unsigned* a, const unsigned* b, const void* c) {
  ffpa_emu->mma(FFPA_EMU_HERE, &shape, d, a, b, c);
}
FFPA_EMU_CALL void ffpa_emu_ldmatrix(unsigned matrices, bool transposed, unsigned* to, unsigned address) {
  ffpa_emu->ldmatrix(FFPA_EMU_HERE, matrices, transposed, to, address);
}
FFPA_EMU_CALL void ffpa_emu_stmatrix(unsigned matrices, bool transposed, const unsigned* from, unsigned address) {
  ffpa_emu->stmatrix(FFPA_EMU_HERE, matrices, transposed, from, address);
}
FFPA_EMU_CALL void ffpa_emu_cp_async(unsigned to, const void* from, unsigned bytes, unsigned source_bytes) {
  ffpa_emu->cp_async(FFPA_EMU_HERE, to, from, bytes, source_bytes);
}
FFPA_EMU_CALL void ffpa_emu_cp_async_commit() { ffpa_emu->cp_async_commit(FFPA_EMU_HERE); }
FFPA_EMU_CALL void ffpa_emu_cp_async_wait(unsigned pending_groups) { ffpa_emu->cp_async_wait(FFPA_EMU_HERE, pending_groups); }
FFPA_EMU_CALL void ffpa_emu_atomic(void* memory, unsigned bytes) { ffpa_emu->atomic(FFPA_EMU_HERE, memory, bytes); }
FFPA_EMU_CALL void ffpa_emu_mbarrier_init(unsigned address, unsigned arrivals) { ffpa_emu->mbarrier_init(FFPA_EMU_HERE, address, arrivals); }
FFPA_EMU_CALL void ffpa_emu_mbarrier_arrive(unsigned address, unsigned expected, bool in_cluster) {
  ffpa_emu->mbarrier_arrive(FFPA_EMU_HERE, address, 1, expected, in_cluster);
}
FFPA_EMU_CALL unsigned ffpa_emu_mbarrier_wait(unsigned address, unsigned parity, bool polls) {
  return ffpa_emu->mbarrier_wait(FFPA_EMU_HERE, address, parity, polls);
}
FFPA_EMU_CALL void ffpa_emu_fence(FfpaEmuFence kind) { ffpa_emu->fence(FFPA_EMU_HERE, kind); }
FFPA_EMU_CALL void ffpa_emu_tensor_load(unsigned to, const FfpaEmuTensorBox& box, unsigned barrier, unsigned blocks) {
  ffpa_emu->tensor_load(FFPA_EMU_HERE, to, &box, barrier, blocks);
}
FFPA_EMU_CALL void ffpa_emu_tensor_store(const FfpaEmuTensorBox& box, unsigned from, FfpaEmuTensorStore kind) {
  ffpa_emu->tensor_store(FFPA_EMU_HERE, &box, from, kind);
}
FFPA_EMU_CALL void ffpa_emu_bulk_load(unsigned to, const void* from, unsigned bytes, unsigned barrier) {
  ffpa_emu->bulk_load(FFPA_EMU_HERE, to, from, bytes, barrier);
}
FFPA_EMU_CALL void ffpa_emu_bulk_store(void* to, unsigned from, unsigned bytes) { ffpa_emu->bulk_store(FFPA_EMU_HERE, to, from, bytes); }
FFPA_EMU_CALL void ffpa_emu_bulk_send(unsigned to, unsigned from, unsigned bytes, unsigned barrier) {
  ffpa_emu->bulk_send(FFPA_EMU_HERE, to, from, bytes, barrier);
}
FFPA_EMU_CALL void ffpa_emu_bulk_commit() { ffpa_emu->bulk_commit(FFPA_EMU_HERE); }
FFPA_EMU_CALL void ffpa_emu_bulk_wait(unsigned pending_groups) { ffpa_emu->bulk_wait(FFPA_EMU_HERE, pending_groups); }
FFPA_EMU_CALL void ffpa_emu_wgmma(const FfpaEmuWgmma& shape, float* d, const unsigned* a, unsigned long long descriptor_a, unsigned long long descriptor_b, bool accumulates) {
  ffpa_emu->wgmma(FFPA_EMU_HERE, &shape, d, a, descriptor_a, descriptor_b, accumulates);
}
FFPA_EMU_CALL void ffpa_emu_wgmma_fence() { ffpa_emu->wgmma_fence(FFPA_EMU_HERE); }
FFPA_EMU_CALL void ffpa_emu_wgmma_commit() { ffpa_emu->wgmma_commit(FFPA_EMU_HERE); }
FFPA_EMU_CALL void ffpa_emu_wgmma_wait(unsigned pending_groups) { ffpa_emu->wgmma_wait(FFPA_EMU_HERE, pending_groups); }
FFPA_EMU_CALL void ffpa_emu_cluster_arrive() { ffpa_emu->cluster_arrive(FFPA_EMU_HERE); }
FFPA_EMU_CALL void ffpa_emu_cluster_wait() { ffpa_emu->cluster_wait(FFPA_EMU_HERE); }
FFPA_EMU_CALL unsigned ffpa_emu_map_shared(unsigned address, unsigned rank) { return ffpa_emu->map_shared(FFPA_EMU_HERE, address, rank); }
FFPA_EMU_CALL void ffpa_emu_load_cluster(void* to, unsigned address, unsigned bytes) {
  memcpy(to, ffpa_emu->cluster_memory(FFPA_EMU_HERE, address, bytes, 0), bytes);
}
FFPA_EMU_CALL void ffpa_emu_store_cluster(unsigned address, const void* from, unsigned bytes) {
  memcpy(ffpa_emu->cluster_memory(FFPA_EMU_HERE, address, bytes, 1), from, bytes);
}
FFPA_EMU_CALL void ffpa_emu_store_async(unsigned address, const void* from, unsigned bytes, unsigned barrier) {
  ffpa_emu->store_async(FFPA_EMU_HERE, address, from, bytes, barrier);
}
FFPA_EMU_CALL unsigned ffpa_emu_elect(unsigned members) { return ffpa_emu->elect(FFPA_EMU_HERE, members); }
FFPA_EMU_CALL void ffpa_emu_set_max_registers(unsigned registers, bool increases) {
  ffpa_emu->set_max_registers(FFPA_EMU_HERE, registers, increases);
}
// red.add.f32, to nearest. Blocks run in parallel.
FFPA_EMU_PLAIN __attribute__((unused)) static void ffpa_emu_add_f32(float* address, float value) {
  unsigned before = __atomic_load_n((unsigned*)address, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n((unsigned*)address, &before, __builtin_bit_cast(unsigned, __builtin_bit_cast(float, before) + value),
                                      true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}
// A 16- or 32-bit element at an address of the .shared state space.
FFPA_EMU_CALL void ffpa_emu_load_shared(void* to, unsigned address, unsigned bytes) {
  const void* from = ffpa_emu->shared_memory(FFPA_EMU_HERE, address, bytes);
  ffpa_emu->read(FFPA_EMU_HERE, from, bytes, bytes);
  memcpy(to, from, bytes);
}
FFPA_EMU_CALL void ffpa_emu_store_shared(unsigned address, const void* from, unsigned bytes) {
  void* to = ffpa_emu->shared_memory(FFPA_EMU_HERE, address, bytes);
  ffpa_emu->write(FFPA_EMU_HERE, to, bytes, bytes);
  memcpy(to, from, bytes);
}

// ---- conversions that several files need

// fp32 to fp16 and bf16, to nearest even; overflow gives infinity, NaN the bits 0x7fff.
static inline __attribute__((always_inline)) unsigned short ffpa_emu_f16_bits(float value) {
  const unsigned bits = __builtin_bit_cast(unsigned, value);
  const unsigned sign = bits >> 16 & 0x8000u;
  unsigned magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);  // 65520 and above
  if (magnitude < 0x38800000u) {
    // Below 2^-14: the addition of 0.5 rounds at 2^-24, fp16's last place there.
    const float rounded = __builtin_bit_cast(float, magnitude) + 0.5f;
    return (unsigned short)(sign | (__builtin_bit_cast(unsigned, rounded) - 0x3f000000u));
  }
  magnitude += 0xfffu + (magnitude >> 13 & 1u);
  return (unsigned short)(sign | (magnitude - 0x38000000u) >> 13);
}

static inline __attribute__((always_inline)) unsigned short ffpa_emu_bf16_bits(float value) {
  const unsigned bits = __builtin_bit_cast(unsigned, value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// ---- functions of the CUDA language
#define FFPA_EMU_MATH(name) \
  FFPA_EMU_CALL float ffpa_emu_##name(float x) { return ffpa_emu->name(x); } \
  static inline __attribute__((always_inline)) float name(float x) { return ffpa_emu_##name(x); }
FFPA_EMU_MATH(exp2f)
FFPA_EMU_MATH(expf)
FFPA_EMU_MATH(log2f)
FFPA_EMU_MATH(logf)
FFPA_EMU_MATH(tanhf)
FFPA_EMU_MATH(sqrtf)
FFPA_EMU_MATH(sinf)
FFPA_EMU_MATH(cosf)
#if defined(__FMA__)
static inline __attribute__((always_inline)) float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
FFPA_EMU_CALL float ffpa_emu_fmaf(float a, float b, float c) { return ffpa_emu->fmaf(a, b, c); }
static inline __attribute__((always_inline)) float fmaf(float a, float b, float c) { return ffpa_emu_fmaf(a, b, c); }
#endif
static inline __attribute__((always_inline)) float fmaxf(float a, float b) { return a != a ? b : b != b ? a : a > b ? a : b; }
static inline __attribute__((always_inline)) float fminf(float a, float b) { return a != a ? b : b != b ? a : a < b ? a : b; }
static inline __attribute__((always_inline)) float fabsf(float x) { return __builtin_fabsf(x); }
static inline __attribute__((always_inline)) void __syncthreads() { ffpa_emu_bar_sync(0, 0); }
static inline __attribute__((always_inline)) void __syncwarp(unsigned members = 0xffffffffu) { ffpa_emu_warp_sync(members); }
