// The arithmetic of one wgmma: operands from shared memory or registers, and the product. Called by
// wgmma.
#pragma once

#include "device/emulator/warpgroup.h"

namespace ffpa_jit::emulator {

constexpr unsigned kRows = 64, kDepth = 16;  // m and k

// matrix = A B (+ matrix).
void multiply(const Multiply& multiply, const unsigned char* shared, float* matrix);

// Where accumulator register `i` of a lane of the warpgroup is: matrix[row][column].
struct MatrixPlace {
  unsigned row, column;
};
constexpr MatrixPlace place_of_register(unsigned lane, unsigned i) {
  return {lane / kWarpSize * 16 + lane % kWarpSize / 4 + i / 2 % 2 * 8,
          i / 4 * 8 + lane % 4 * 2 + i % 2};
}

}  // namespace ffpa_jit::emulator
