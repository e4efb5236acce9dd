// Where a wgmma finds its operands in shared memory. PTX ISA, "Asynchronous Warpgroup Level Matrix
// Instructions: Shared Memory Matrix Layout, Strides, Matrix Descriptor Format". Used by wgmma.
#pragma once

#include <cstdint>

namespace ffpa_jit::emulator {

struct MatrixDescriptor {
  uint32_t start, leading, stride;  // bytes
  uint32_t base_offset;
  uint32_t chunks;  // of 16 bytes in a swizzled row: 8, 4, 2; 1: no swizzle

  explicit MatrixDescriptor(uint64_t bits)
      : start((bits & 0x3fff) << 4),
        leading((bits >> 16 & 0x3fff) << 4),
        stride((bits >> 32 & 0x3fff) << 4),
        base_offset(bits >> 49 & 7) {
    constexpr uint32_t kChunks[] = {1, 8, 4, 2};
    chunks = kChunks[bits >> 62];
  }

  // The offset of 8 elements of 16 bits: K-major, of row (column) `mn`, elements 8 `k8` on;
  uint32_t k_major(uint32_t mn, uint32_t k8) const {
    return swizzled(start + mn % 8 * 16 * chunks + mn / 8 * stride +
                    k8 * (chunks == 1 ? leading : 16));
  }
  // MN-major, of row `k`, elements 8 `mn8` on.
  uint32_t mn_major(uint32_t k, uint32_t mn8) const {
    if (chunks == 1) return start + k % 8 * 16 + k / 8 * leading + mn8 * stride;
    return swizzled(start + k % 8 * 16 * chunks + k / 8 * stride + mn8 % chunks * 16 +
                    mn8 / chunks * leading);
  }

 private:
  uint32_t swizzled(uint32_t address) const { return address ^ (address >> 7 & (chunks - 1)) << 4; }
};

}  // namespace ffpa_jit::emulator
