// Matrix multiply-accumulate of a warpgroup, emulated. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions: wgmma".
// Fragments and descriptors as in cuda/lib/wgmma.cuh. Accumulators hold NaN until wgmma_wait_group has given them back.

#define FFPA_EMU_HAS_WGMMA

// wgmma.fence, wgmma.commit_group, wgmma.wait_group
FFPA_DEVICE void wgmma_fence() { ffpa_emu_wgmma_fence(); }
FFPA_DEVICE void wgmma_commit_group() { ffpa_emu_wgmma_commit(); }
template <int kPending>
FFPA_DEVICE void wgmma_wait_group() {
  ffpa_emu_wgmma_wait(kPending);
}

// A matrix descriptor as two 32-bit words: address / 16 and leading byte offset / 16 in the low one, stride byte offset / 16
// and swizzle in the high one.
enum WgmmaSwizzle : unsigned { kWgmmaNoSwizzle = 0, kWgmmaSwizzle128 = 1, kWgmmaSwizzle64 = 2, kWgmmaSwizzle32 = 3 };

FFPA_DEVICE unsigned wgmma_descriptor_low(unsigned address, unsigned leading_bytes) {
  return (address & 0x3ffffu) >> 4 | (leading_bytes & 0x3ffffu) >> 4 << 16;
}
FFPA_DEVICE constexpr unsigned wgmma_descriptor_high(unsigned stride_bytes, WgmmaSwizzle swizzle) {
  return (stride_bytes & 0x3ffffu) >> 4 | (unsigned)swizzle << 30;
}
FFPA_DEVICE unsigned opaque(unsigned value) { return value; }
FFPA_DEVICE unsigned long long wgmma_descriptor(unsigned low, unsigned high) { return (unsigned long long)high << 32 | low; }

//% for type in wgmma_types
//% for n in wgmma_n
// wgmma.mma_async.sync.aligned.m64n{{ n }}k16.f32.{{ type }}.{{ type }}
template <bool kTransposeA, bool kTransposeB>
FFPA_DEVICE void wgmma_m64n{{ n }}k16_f32_{{ type }}(float (&d)[{{ n // 2 }}], unsigned long long a, unsigned long long b, bool accumulates) {
  ffpa_emu_wgmma({kFfpaEmu{{ "Bf16" if type == "bf16" else "F16" }}, {{ n }}, kTransposeA, kTransposeB}, d, nullptr, a, b, accumulates);
}
template <bool kTransposeB>
FFPA_DEVICE void wgmma_m64n{{ n }}k16_f32_{{ type }}(float (&d)[{{ n // 2 }}], unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                        unsigned long long b, bool accumulates) {
  const unsigned a[4] = {a0, a1, a2, a3};
  ffpa_emu_wgmma({kFfpaEmu{{ "Bf16" if type == "bf16" else "F16" }}, {{ n }}, false, kTransposeB}, d, a, 0, b, accumulates);
}
//% endfor
//% endfor
