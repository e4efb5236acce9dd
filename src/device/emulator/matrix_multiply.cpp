#include "device/emulator/matrix_multiply.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <type_traits>

#include "device/emulator/elements.h"
#include "device/emulator/scheduler.h"
#include "device/emulator/warp_exchange.h"

namespace ffpa_jit::emulator {
namespace {

constexpr unsigned kRows = 16, kColumns = 8, kMaxDepth = 32;

struct Operands {
  const FfpaEmuMma* shape;
  void* d;
  const unsigned* a;
  const unsigned* b;
  const void* c;
};

template <typename Element>
struct alignas(64) Tiles {
  Element a[kRows][kMaxDepth];
  Element b[kMaxDepth][kColumns];
  Element c[kRows][kColumns];
};

unsigned bits_of(FfpaEmuElement element) {
  switch (element) {
    case kFfpaEmuF16:
    case kFfpaEmuBf16:
      return 16;
    case kFfpaEmuE4m3:
    case kFfpaEmuE5m2:
    case kFfpaEmuS8:
    case kFfpaEmuU8:
      return 8;
    case kFfpaEmuTf32:
    case kFfpaEmuF32:
    case kFfpaEmuS32:
      return 32;
  }
  return 32;
}

struct ByteTables {
  std::array<float, 256> e4m3, e5m2;
  ByteTables() {
    for (unsigned i = 0; i < 256; ++i) {
      e4m3[i] = float_of_e4m3(static_cast<uint8_t>(i));
      e5m2[i] = float_of_e5m2(static_cast<uint8_t>(i));
    }
  }
};
const ByteTables& byte_tables() {
  static const ByteTables tables;
  return tables;
}

// Element `i` of a register.
template <FfpaEmuElement kElement>
auto element(unsigned word, unsigned i) {
  if constexpr (kElement == kFfpaEmuF16) return float_of_f16(static_cast<uint16_t>(word >> 16 * i));
  if constexpr (kElement == kFfpaEmuBf16)
    return float_of_bf16(static_cast<uint16_t>(word >> 16 * i));
  if constexpr (kElement == kFfpaEmuTf32) return float_of_tf32(word);
  if constexpr (kElement == kFfpaEmuE4m3) return byte_tables().e4m3[word >> 8 * i & 0xff];
  if constexpr (kElement == kFfpaEmuE5m2) return byte_tables().e5m2[word >> 8 * i & 0xff];
  if constexpr (kElement == kFfpaEmuS8) return int32_t{static_cast<int8_t>(word >> 8 * i)};
  if constexpr (kElement == kFfpaEmuU8) return static_cast<int32_t>(word >> 8 * i & 0xff);
}

// In every format a register holds e = 32 / bits neighbours along k. With g = lane / 4 and t = lane
// % 4: register r of A is row g + 8 (r & 1), k = e t + 4 e (r / 2) onwards; register r of B is
// column g, k = e t + 4 e r onwards; of C and D, values 0 and 1 are row g, columns 2 t and 2 t + 1,
// values 2 and 3 the same of row g + 8.
template <FfpaEmuElement kElement, typename Tile>
void gather_a(const std::array<void*, kWarpSize>& lanes, unsigned depth, Tile& tile) {
  constexpr unsigned kPer = kElement == kFfpaEmuTf32                                ? 1
                            : (kElement == kFfpaEmuF16 || kElement == kFfpaEmuBf16) ? 2
                                                                                    : 4;
  const unsigned registers = 2 * depth / (4 * kPer);
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const auto& own = *static_cast<const Operands*>(lanes[lane]);
    for (unsigned r = 0; r < registers; ++r) {
      auto* row = &tile.a[lane / 4 + 8 * (r & 1)][kPer * (lane % 4) + 4 * kPer * (r / 2)];
      for (unsigned i = 0; i < kPer; ++i) row[i] = element<kElement>(own.a[r], i);
    }
  }
}

template <FfpaEmuElement kElement, typename Tile>
void gather_b(const std::array<void*, kWarpSize>& lanes, unsigned depth, Tile& tile) {
  constexpr unsigned kPer = kElement == kFfpaEmuTf32                                ? 1
                            : (kElement == kFfpaEmuF16 || kElement == kFfpaEmuBf16) ? 2
                                                                                    : 4;
  const unsigned registers = depth / (4 * kPer);
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const auto& own = *static_cast<const Operands*>(lanes[lane]);
    for (unsigned r = 0; r < registers; ++r) {
      for (unsigned i = 0; i < kPer; ++i) {
        tile.b[kPer * (lane % 4) + 4 * kPer * r + i][lane / 4] = element<kElement>(own.b[r], i);
      }
    }
  }
}

template <typename Tile>
void gather_operands(const std::array<void*, kWarpSize>& lanes, const FfpaEmuMma& shape,
                     Tile& tile) {
  using Element = std::remove_reference_t<decltype(tile.a[0][0])>;
  const auto each = [&](FfpaEmuElement kind, auto&& gather) {
    if constexpr (std::is_same_v<Element, float>) {
      switch (kind) {
        case kFfpaEmuF16:
          return gather(std::integral_constant<FfpaEmuElement, kFfpaEmuF16>());
        case kFfpaEmuBf16:
          return gather(std::integral_constant<FfpaEmuElement, kFfpaEmuBf16>());
        case kFfpaEmuTf32:
          return gather(std::integral_constant<FfpaEmuElement, kFfpaEmuTf32>());
        case kFfpaEmuE4m3:
          return gather(std::integral_constant<FfpaEmuElement, kFfpaEmuE4m3>());
        case kFfpaEmuE5m2:
          return gather(std::integral_constant<FfpaEmuElement, kFfpaEmuE5m2>());
        default:
          return;
      }
    } else {
      if (kind == kFfpaEmuS8) return gather(std::integral_constant<FfpaEmuElement, kFfpaEmuS8>());
      gather(std::integral_constant<FfpaEmuElement, kFfpaEmuU8>());
    }
  };
  each(shape.a, [&](auto kind) { gather_a<decltype(kind)::value>(lanes, shape.depth, tile); });
  each(shape.b, [&](auto kind) { gather_b<decltype(kind)::value>(lanes, shape.depth, tile); });
}

// 32-bit accumulators, float or int32.
template <typename Element>
void gather_c(const std::array<void*, kWarpSize>& lanes, Tiles<Element>& tile) {
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const auto* c = static_cast<const Element*>(static_cast<const Operands*>(lanes[lane])->c);
    std::memcpy(&tile.c[lane / 4][2 * (lane % 4)], c, 2 * sizeof(Element));
    std::memcpy(&tile.c[lane / 4 + 8][2 * (lane % 4)], c + 2, 2 * sizeof(Element));
  }
}
template <typename Element>
void scatter_d(const std::array<void*, kWarpSize>& lanes, const Tiles<Element>& tile) {
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    auto* d = static_cast<Element*>(static_cast<const Operands*>(lanes[lane])->d);
    std::memcpy(d, &tile.c[lane / 4][2 * (lane % 4)], 2 * sizeof(Element));
    std::memcpy(d + 2, &tile.c[lane / 4 + 8][2 * (lane % 4)], 2 * sizeof(Element));
  }
}

// Two fp16 in a register.
void gather_c_f16(const std::array<void*, kWarpSize>& lanes, Tiles<float>& tile) {
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const auto* c = static_cast<const unsigned*>(static_cast<const Operands*>(lanes[lane])->c);
    for (unsigned i = 0; i < 4; ++i) {
      tile.c[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2] =
          float_of_f16(static_cast<uint16_t>(c[i / 2] >> 16 * (i % 2)));
    }
  }
}
void scatter_d_f16(const std::array<void*, kWarpSize>& lanes, const Tiles<float>& tile) {
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    auto* d = static_cast<unsigned*>(static_cast<const Operands*>(lanes[lane])->d);
    for (unsigned r = 0; r < 2; ++r) {
      const float* pair = &tile.c[lane / 4 + 8 * r][2 * (lane % 4)];
      d[r] = f16_of_float(pair[0]) | static_cast<unsigned>(f16_of_float(pair[1])) << 16;
    }
  }
}

// fp32 with products exact (all formats but tf32, whose products lose 0 to 1 of their 22 bits
// nowhere either) and sums to nearest, k ascending. A tensor core sums in another order and cuts
// off instead of rounding.
void multiply(Tiles<float>& tile, unsigned depth) {
  typedef float Row __attribute__((vector_size(4 * kColumns)));
  for (unsigned m = 0; m < kRows; ++m) {
    Row sum, b;
    std::memcpy(&sum, tile.c[m], sizeof(sum));
    for (unsigned k = 0; k < depth; ++k) {
      std::memcpy(&b, tile.b[k], sizeof(b));
      sum += tile.a[m][k] * b;
    }
    std::memcpy(tile.c[m], &sum, sizeof(sum));
  }
}

void multiply(Tiles<int32_t>& tile, unsigned depth) {
  for (unsigned m = 0; m < kRows; ++m) {
    for (unsigned k = 0; k < depth; ++k) {
      for (unsigned n = 0; n < kColumns; ++n) {
        tile.c[m][n] = static_cast<int32_t>(static_cast<uint32_t>(tile.c[m][n]) +
                                            static_cast<uint32_t>(tile.a[m][k] * tile.b[k][n]));
      }
    }
  }
}

void compute(const std::array<void*, kWarpSize>& lanes) {
  const FfpaEmuMma& shape = *static_cast<const Operands*>(lanes[0])->shape;
  if (shape.accumulator == kFfpaEmuS32) {
    Tiles<int32_t> tile;
    gather_operands(lanes, shape, tile);
    gather_c(lanes, tile);
    multiply(tile, shape.depth);
    scatter_d(lanes, tile);
    return;
  }
  Tiles<float> tile;
  gather_operands(lanes, shape, tile);
  const bool half = shape.accumulator == kFfpaEmuF16;
  if (half) {
    gather_c_f16(lanes, tile);
  } else {
    gather_c(lanes, tile);
  }
  multiply(tile, shape.depth);
  if (half) {
    scatter_d_f16(lanes, tile);
  } else {
    scatter_d(lanes, tile);
  }
}

}  // namespace

void mma(FfpaEmuThread* self, const void* place, const FfpaEmuMma* shape, void* d,
         const unsigned* a, const unsigned* b, const void* c) {
  Operands own{shape, d, a, b, c};
  Fiber& fiber = fiber_of(self);
  if (shape->depth > kMaxDepth || shape->depth * bits_of(shape->a) % 128 != 0 ||
      bits_of(shape->a) != bits_of(shape->b)) {
    fail(fiber, place,
         fmt::format("mma.sync of depth {}, which the emulator does not know", shape->depth));
  }
  with_warp(fiber, place, Op::kMma, &own, compute);
}

}  // namespace ffpa_jit::emulator
