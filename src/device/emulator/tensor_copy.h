// A tensor map in the emulator's own format, and a box of it: what a bulk copy moves between global
// and shared memory. Used by the bulk copy instructions and, to encode, by the device.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "device/tensor_map.h"

namespace ffpa_jit::emulator {

constexpr unsigned kMaxRank = kMaxTensorMapRank;

// One instruction's share of a tensor, all in bytes but the counts. A plain run of bytes is a box
// of rank 1.
struct TensorCopy {
  unsigned char* address = nullptr;  // of the tensor's element {0, ...}
  unsigned rank = 0;
  TensorElement element = TensorElement::kBf16;
  TensorSwizzle swizzle = TensorSwizzle::kNone;
  bool adds = false;                                   // a store that adds
  std::array<int64_t, kMaxRank> sizes{}, box{}, at{};  // elements; box clipped by nothing
  std::array<int64_t, kMaxRank> strides{};             // bytes; [0] is the element's size
  uint32_t row_bytes = 0;                              // of the box
  uint32_t pitch = 0;                                  // from row to row in shared memory
  uint32_t rows = 0;

  // That are copied, and counted at an mbarrier.
  uint32_t bytes() const { return rows * row_bytes; }
  // From the first to the last byte in shared memory.
  uint32_t extent() const { return (rows - 1) * pitch + (pitch > row_bytes ? pitch : row_bytes); }
  // The global memory between the first and the last byte inside the tensor; false: none is inside.
  bool global_range(uintptr_t& begin, uint64_t& bytes) const;

  // Moves the box. `offset` is that of the box in `shared`, a block's whole window, whose addresses
  // the swizzle looks at.
  void load(unsigned char* shared, uint32_t offset) const;
  void store(const unsigned char* shared, uint32_t offset) const;
};

// `count` bytes at `address`.
TensorCopy plain_copy(const void* address, uint32_t count);

// The opaque words. Throws Error INVALID_ARGUMENT for what the hardware refuses.
TensorMap encode(const TensorMapSpec& spec);

// The box at `at`; empty text, or what is wrong with `map` or with asking it for `rank`
// coordinates.
std::string decode(const void* map, unsigned rank, const int* at, TensorCopy& copy);

}  // namespace ffpa_jit::emulator
