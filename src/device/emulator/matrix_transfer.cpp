#include "device/emulator/matrix_transfer.h"

#include <cstring>

#include "device/emulator/memory_access.h"
#include "device/emulator/warp_exchange.h"

namespace ffpa_jit::emulator {
namespace {

constexpr unsigned kRowBytes = 16;

// Lane 8 i + r brings the address of row r of matrix i. Register i of lane l is elements 2 (l % 4)
// and the next of row l / 4 of matrix i; transposed: rows 2 (l % 4) and the next of column l / 4.
struct Operands {
  unsigned* words;
  unsigned address;
};

using Matrix = uint16_t[8][8];

}  // namespace

void ldmatrix(FfpaEmuThread* self, const void* place, unsigned matrices, unsigned transposed,
              unsigned* to, unsigned address) {
  Fiber& fiber = fiber_of(self);
  Operands own{to, address};
  with_warp(fiber, place, Op::kLdmatrix, &own, [&](const std::array<void*, kWarpSize>& lanes) {
    Matrix matrix[4];
    for (unsigned lane = 0; lane < 8 * matrices; ++lane) {
      const unsigned from = static_cast<Operands*>(lanes[lane])->address;
      std::memcpy(matrix[lane / 8][lane % 8],
                  read_shared(fiber.warp->fibers[lane], place, Op::kLdmatrix, from, kRowBytes),
                  kRowBytes);
    }
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      unsigned* words = static_cast<Operands*>(lanes[lane])->words;
      const unsigned row = lane / 4, column = 2 * (lane % 4);
      for (unsigned i = 0; i < matrices; ++i) {
        words[i] =
            transposed
                ? matrix[i][column][row] | static_cast<unsigned>(matrix[i][column + 1][row]) << 16
                : matrix[i][row][column] | static_cast<unsigned>(matrix[i][row][column + 1]) << 16;
      }
    }
  });
}

void stmatrix(FfpaEmuThread* self, const void* place, unsigned matrices, unsigned transposed,
              const unsigned* from, unsigned address) {
  Fiber& fiber = fiber_of(self);
  Operands own{const_cast<unsigned*>(from), address};
  with_warp(fiber, place, Op::kStmatrix, &own, [&](const std::array<void*, kWarpSize>& lanes) {
    Matrix matrix[4];
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      const unsigned* words = static_cast<Operands*>(lanes[lane])->words;
      const unsigned row = lane / 4, column = 2 * (lane % 4);
      for (unsigned i = 0; i < matrices; ++i) {
        const auto low = static_cast<uint16_t>(words[i]),
                   high = static_cast<uint16_t>(words[i] >> 16);
        (transposed ? matrix[i][column][row] : matrix[i][row][column]) = low;
        (transposed ? matrix[i][column + 1][row] : matrix[i][row][column + 1]) = high;
      }
    }
    for (unsigned lane = 0; lane < 8 * matrices; ++lane) {
      const unsigned to = static_cast<Operands*>(lanes[lane])->address;
      std::memcpy(write_shared(fiber.warp->fibers[lane], place, Op::kStmatrix, to, kRowBytes),
                  matrix[lane / 8][lane % 8], kRowBytes);
    }
  });
}

}  // namespace ffpa_jit::emulator
