// Values of the narrow floating-point formats. Used by the matrix instructions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ffpa_jit::emulator {

inline float float_of_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

inline float float_of_f16(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u)
    return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  // The exponent's bias changes by 112; as a multiplication this serves denormal numbers too.
  return std::bit_cast<float>(
      sign | std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f));
}

// To nearest even.
inline uint16_t f16_of_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(rounded) - 0x3f000000u));
  }
  return static_cast<uint16_t>(sign |
                               (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13);
}

// tf32 is the upper 19 bits of a float; the tensor core does not look at the rest.
inline float float_of_tf32(uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000u); }

// 4 exponent bits, bias 7, no infinity, NaN is all ones (OCP 8-bit floating point).
inline float float_of_e4m3(uint8_t bits) {
  const float sign = bits & 0x80 ? -1.0f : 1.0f;
  const int exponent = bits >> 3 & 15, mantissa = bits & 7;
  if (exponent == 15 && mantissa == 7) return std::bit_cast<float>(0x7fffffffu);
  return sign * (exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                               : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10));
}

// The upper half of an fp16.
inline float float_of_e5m2(uint8_t bits) { return float_of_f16(static_cast<uint16_t>(bits << 8)); }

}  // namespace ffpa_jit::emulator
