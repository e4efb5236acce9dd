// Matrix multiply-accumulate of a warpgroup (four warps, the first a multiple of four). PTX ISA, "Asynchronous
// Warpgroup Level Matrix Instructions: wgmma"; sm_90a.
//
// Issue and completion are apart: after wgmma_fence(), any number of wgmma_m64n... by all threads of the warpgroup, then wgmma_commit_group();
// accumulators, registers of A and shared memory may be touched once wgmma_wait_group says that the group is complete.
//
// With group = lane / 4 and pair = 2 (lane % 4), warp w of the warpgroup:
//   D [64 x n]   d[i] row 16 w + group + 8 (i / 2 % 2), column 8 (i / 4) + pair + i % 2
//   A [64 x 16]  in registers: a0 row 16 w + group, columns pair, pair + 1; a1 row + 8; a2, a3 the same rows, columns + 8
//   A, B         in shared memory: by a descriptor; K-major is [row of A, column of B][k], MN-major is [k][row, column]
//
// Context: wgmma_n, the list of n (8 to 256, multiples of 8); wgmma_types, of "bf16" and "f16".

// wgmma.fence.sync.aligned: before the first wgmma, and before one that uses registers that were written since the last.
FFPA_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

// wgmma.commit_group.sync.aligned: closes a group of what was issued since the last.
FFPA_DEVICE void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// wgmma.wait_group.sync.aligned: at most kPending groups are not complete.
template <int kPending>
FFPA_DEVICE void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// A matrix descriptor (PTX ISA, "Matrix Descriptor Format"), 64 bits as two words. The low word changes from wgmma to wgmma, the high
// one does not: kept apart, and the low one opaque to the compiler, which otherwise computes all of a kernel's descriptors first and
// spills them.
//   low   bits 0-13 address / 16, 16-29 leading dimension byte offset / 16. Add bytes / 16 to move on.
//   high  bits 0-13 stride dimension byte offset / 16, 30-31 swizzle
// Swizzled layouts are of 8 rows of 128 (64, 32) bytes, whose addresses' bits 4-6 (4-5, 4) are XORed with bits 7-9 (7-8, 7), aligned to 1024 (512, 256) bytes:
//   K-major   stride: bytes between groups of 8 rows; leading: not used; a step of k = 16 is 32 bytes on
//   MN-major  leading: bytes between blocks of 64 (32, 16) columns; stride: bytes between groups of 8 of k
enum WgmmaSwizzle : unsigned { kWgmmaNoSwizzle = 0, kWgmmaSwizzle128 = 1, kWgmmaSwizzle64 = 2, kWgmmaSwizzle32 = 3 };

// Within a cluster, bits from 18 on of a shared address hold the block's rank.
FFPA_DEVICE unsigned wgmma_descriptor_low(unsigned address, unsigned leading_bytes) {
  return (address & 0x3ffffu) >> 4 | (leading_bytes & 0x3ffffu) >> 4 << 16;
}
FFPA_DEVICE constexpr unsigned wgmma_descriptor_high(unsigned stride_bytes, WgmmaSwizzle swizzle) {
  return (stride_bytes & 0x3ffffu) >> 4 | (unsigned)swizzle << 30;
}

// No instruction: the compiler takes the value as unknown.
FFPA_DEVICE unsigned opaque(unsigned value) {
  asm volatile("" : "+r"(value));
  return value;
}

// mov.b64 from two 32-bit words.
FFPA_DEVICE unsigned long long wgmma_descriptor(unsigned low, unsigned high) {
  unsigned long long descriptor;
  asm("mov.b64 %0, { %1, %2};" : "=l"(descriptor) : "r"(low), "r"(high));
  return descriptor;
}

//% for type in wgmma_types
//% for n in wgmma_n
//% set d = n // 2
// wgmma.mma_async.sync.aligned.m64n{{ n }}k16.f32.{{ type }}.{{ type }}: d = A B + d, or A B when `accumulates` does not hold. Transposed is MN-major.
template <bool kTransposeA, bool kTransposeB>
FFPA_DEVICE void wgmma_m64n{{ n }}k16_f32_{{ type }}(float (&d)[{{ d }}], unsigned long long a, unsigned long long b, bool accumulates) {
  asm volatile(
      "{ .reg .pred accumulates;\n"
      "  setp.ne.b32 accumulates, %{{ d + 2 }}, 0;\n"
      "  wgmma.mma_async.sync.aligned.m64n{{ n }}k16.f32.{{ type }}.{{ type }} "
      "{ {% for i in range(d) %}%{{ i }}{{ ", " if not loop.last }}{% endfor %} }, "
      "%{{ d }}, %{{ d + 1 }}, accumulates, 1, 1, %{{ d + 3 }}, %{{ d + 4 }}; }"
      : {% for i in range(d) %}"+f"(d[{{ i }}]){{ ", " if not loop.last }}{% endfor %}

      : "l"(a), "l"(b), "r"((unsigned)accumulates), "n"(kTransposeA ? 1 : 0), "n"(kTransposeB ? 1 : 0));
}
// The same with A in registers.
template <bool kTransposeB>
FFPA_DEVICE void wgmma_m64n{{ n }}k16_f32_{{ type }}(float (&d)[{{ d }}], unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                        unsigned long long b, bool accumulates) {
  asm volatile(
      "{ .reg .pred accumulates;\n"
      "  setp.ne.b32 accumulates, %{{ d + 5 }}, 0;\n"
      "  wgmma.mma_async.sync.aligned.m64n{{ n }}k16.f32.{{ type }}.{{ type }} "
      "{ {% for i in range(d) %}%{{ i }}{{ ", " if not loop.last }}{% endfor %} }, "
      "{ %{{ d }}, %{{ d + 1 }}, %{{ d + 2 }}, %{{ d + 3 }}}, %{{ d + 4 }}, accumulates, 1, 1, %{{ d + 6 }}; }"
      : {% for i in range(d) %}"+f"(d[{{ i }}]){{ ", " if not loop.last }}{% endfor %}

      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b), "r"((unsigned)accumulates), "n"(kTransposeB ? 1 : 0));
}
//% endfor
//% endfor
