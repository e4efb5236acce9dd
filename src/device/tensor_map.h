// TensorMapSpec: a tensor and the box of it that one TMA instruction moves;
// Device::encode_tensor_map makes the opaque TensorMap of it that a kernel is given. Written by
// plans, encoded and kept by the runtime.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace ffpa_jit {

#include "common/tensor_map.h"

enum class TensorElement : uint8_t { kFp16, kBf16, kFp32, kUint8 };
enum class TensorSwizzle : uint8_t { kNone, k32Bytes, k64Bytes, k128Bytes };

inline constexpr int kMaxTensorMapRank = 5;
inline constexpr int kMaxTensorMaps = 6;  // of one kernel

// Rules of the hardware: address and strides are multiples of 16 bytes (strides 0 < s < 2^40 where
// the size is over 1), sizes 1 to 2^32, box 1 to 256, and the box's innermost row is at most as
// many bytes as the swizzle's name says.
struct TensorMapSpec {
  const void* address = nullptr;
  std::array<uint64_t, kMaxTensorMapRank> sizes{};        // elements, innermost first
  std::array<uint64_t, kMaxTensorMapRank - 1> strides{};  // bytes, of the second dimension onwards
  std::array<uint32_t, kMaxTensorMapRank> box{};          // elements
  TensorElement element = TensorElement::kBf16;
  uint8_t rank = 0;
  TensorSwizzle swizzle = TensorSwizzle::k128Bytes;
  uint8_t reserved = 0;

  bool operator==(const TensorMapSpec& other) const noexcept {
    return std::memcmp(this, &other, sizeof(*this)) == 0;
  }
};
static_assert(sizeof(TensorMapSpec) == 104, "no padding: specs are compared and hashed as bytes");

// The maps of one kernel in the order of its parameter struct.
struct TensorMapSpecs {
  std::array<TensorMapSpec, kMaxTensorMaps> spec;
  int count = 0;

  TensorMapSpec& add() { return spec[count++]; }
};

// Bytes of the parameter struct {ForwardParams, TensorMap...} ahead of its first map.
constexpr size_t tensor_maps_offset(size_t params_bytes) {
  return (params_bytes + alignof(TensorMap) - 1) / alignof(TensorMap) * alignof(TensorMap);
}

}  // namespace ffpa_jit
