#include "device/emulator/warpgroup_product.h"

#include <cstring>

#include "device/emulator/elements.h"
#include "device/emulator/matrix_descriptor.h"

namespace ffpa_jit::emulator {
namespace {

struct alignas(64) Operands {
  float a[kRows][kDepth];
  float b[kDepth][256];
};

typedef float Vector __attribute__((vector_size(32)));

// fp32 sums in ascending k, to nearest; products of 16-bit elements are exact.
__attribute__((always_inline)) inline void accumulate(const Operands& operands, unsigned columns,
                                                      float* matrix) {
  constexpr unsigned kLanes = sizeof(Vector) / sizeof(float), kTile = 4;
  for (unsigned m = 0; m < kRows; m += kTile) {
    for (unsigned n = 0; n < columns; n += kLanes) {
      Vector sum[kTile];
      for (unsigned i = 0; i < kTile; ++i)
        std::memcpy(&sum[i], matrix + (m + i) * columns + n, sizeof(Vector));
      for (unsigned k = 0; k < kDepth; ++k) {
        Vector b;
        std::memcpy(&b, &operands.b[k][n], sizeof(b));
        for (unsigned i = 0; i < kTile; ++i) sum[i] += operands.a[m + i][k] * b;
      }
      for (unsigned i = 0; i < kTile; ++i)
        std::memcpy(matrix + (m + i) * columns + n, &sum[i], sizeof(Vector));
    }
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void accumulate_wide(const Operands& operands, unsigned columns,
                                                         float* matrix) {
  accumulate(operands, columns, matrix);
}
#endif

void accumulate_any(const Operands& operands, unsigned columns, float* matrix) {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (wide) return accumulate_wide(operands, columns, matrix);
#endif
  accumulate(operands, columns, matrix);
}

template <auto kConvert>
void gather(const Multiply& multiply, const unsigned char* shared, Operands& operands) {
  // Calls put(i, element) for 8 elements at an offset.
  const auto eight = [&](uint32_t offset, auto&& put) {
    uint16_t bits[8];
    std::memcpy(bits, shared + offset, sizeof(bits));
    for (unsigned i = 0; i < 8; ++i) put(i, kConvert(bits[i]));
  };
  if (multiply.a_in_registers) {
    for (unsigned lane = 0; lane < kWarpgroupThreads; ++lane) {
      for (unsigned r = 0; r < 4; ++r) {
        const unsigned word = multiply.registers[lane][r];
        float* to =
            &operands.a[lane / 32 * 16 + lane % 32 / 4 + r % 2 * 8][lane % 4 * 2 + r / 2 * 8];
        to[0] = kConvert(static_cast<uint16_t>(word));
        to[1] = kConvert(static_cast<uint16_t>(word >> 16));
      }
    }
  } else {
    const MatrixDescriptor a(multiply.a);
    if (multiply.shape.transpose_a) {
      for (unsigned k = 0; k < kDepth; ++k)
        for (unsigned m8 = 0; m8 < kRows / 8; ++m8)
          eight(a.mn_major(k, m8), [&](unsigned i, float x) { operands.a[8 * m8 + i][k] = x; });
    } else {
      for (unsigned m = 0; m < kRows; ++m)
        for (unsigned k8 = 0; k8 < kDepth / 8; ++k8)
          eight(a.k_major(m, k8), [&](unsigned i, float x) { operands.a[m][8 * k8 + i] = x; });
    }
  }
  const MatrixDescriptor b(multiply.b);
  const unsigned columns = multiply.shape.columns;
  if (multiply.shape.transpose_b) {
    for (unsigned k = 0; k < kDepth; ++k)
      for (unsigned n8 = 0; n8 < columns / 8; ++n8)
        eight(b.mn_major(k, n8), [&](unsigned i, float x) { operands.b[k][8 * n8 + i] = x; });
  } else {
    for (unsigned n = 0; n < columns; ++n)
      for (unsigned k8 = 0; k8 < kDepth / 8; ++k8)
        eight(b.k_major(n, k8), [&](unsigned i, float x) { operands.b[8 * k8 + i][n] = x; });
  }
}

}  // namespace

void multiply(const Multiply& multiply, const unsigned char* shared, float* matrix) {
  // Not on the stack, which is an emulated thread's.
  static thread_local Operands operands;
  if (multiply.shape.element == kFfpaEmuF16) {
    gather<float_of_f16>(multiply, shared, operands);
  } else {
    gather<float_of_bf16>(multiply, shared, operands);
  }
  const unsigned columns = multiply.shape.columns;
  if (!multiply.accumulates) std::memset(matrix, 0, sizeof(float) * kRows * columns);
  accumulate_any(operands, columns, matrix);
}

}  // namespace ffpa_jit::emulator
