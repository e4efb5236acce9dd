// fp16 and bf16 as 16 bits: the one place where they are converted to and from float. Called by the
// fp64 reference, the portable CPU kernel, file readers and tests.
//
// Rounding is to nearest, ties to even; overflow gives infinity, NaN stays NaN (quiet), subnormals
// are kept, also under flush-to-zero. No branches that stop a compiler from vectorising a loop over
// them.
#pragma once

#include <bit>
#include <cstdint>

namespace ffpa_jit {

inline float float_from_bf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t bf16_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  // Rounding could carry a NaN's low mantissa bits into infinity: set a quiet bit instead.
  const uint32_t quiet_nan = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
}

inline float float_from_fp16(uint16_t bits) {
  const uint32_t sign = (static_cast<uint32_t>(bits) & 0x8000u) << 16;
  const uint32_t magnitude = (static_cast<uint32_t>(bits) & 0x7fffu) << 13;
  const uint32_t exponent = magnitude & 0x0f800000u;
  const uint32_t normal = magnitude + ((127u - 15u) << 23);
  const uint32_t special = magnitude | 0x7f800000u;  // infinity and NaN
  // A subnormal's mantissa is placed under the implicit one of 2^-14, which is then subtracted:
  // exact, and no fp32 subnormal appears on the way.
  const float subnormal = std::bit_cast<float>(normal + (1u << 23)) - 0x1p-14f;
  uint32_t out = exponent == 0x0f800000u ? special : normal;
  out = exponent == 0 ? std::bit_cast<uint32_t>(subnormal) : out;
  return std::bit_cast<float>(out | sign);
}

inline uint16_t fp16_from_float(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  // Below 2^-14 the adder rounds for us: 0.5 has the unit in the last place of an fp16 subnormal,
  // 2^-24.
  const float magic = std::bit_cast<float>(magnitude) + 0.5f;
  const uint32_t subnormal = std::bit_cast<uint32_t>(magic) - std::bit_cast<uint32_t>(0.5f);
  const uint32_t normal =
      (magnitude - ((127u - 15u) << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  uint32_t out = magnitude < 0x38800000u ? subnormal : normal;  // 2^-14
  out = magnitude >= 0x477ff000u ? special : out;  // 65520, the first to round to infinity
  return static_cast<uint16_t>(out | sign);
}

}  // namespace ffpa_jit
