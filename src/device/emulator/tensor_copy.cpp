#include "device/emulator/tensor_copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/float16.h"

namespace ffpa_jit::emulator {
namespace {

constexpr uint64_t kMagic = 0x70616d2d726f736e;  // "nsor-map"
constexpr uint32_t kGranule = 16;                // bytes that a swizzle moves together

// What a TensorMap's words hold.
struct Encoded {
  uint64_t magic;
  const void* address;
  std::array<uint64_t, kMaxRank> sizes;
  std::array<uint64_t, kMaxRank - 1> strides;
  std::array<uint16_t, kMaxRank> box;
  TensorElement element;
  uint8_t rank;
  TensorSwizzle swizzle;
};
static_assert(sizeof(Encoded) <= sizeof(TensorMap));

uint32_t bytes_of(TensorElement element) {
  if (element == TensorElement::kUint8) return 1;
  return element == TensorElement::kFp32 ? 4 : 2;
}

uint32_t span_of(TensorSwizzle swizzle) {
  return swizzle == TensorSwizzle::kNone ? 0 : 16u << static_cast<unsigned>(swizzle);
}

// PTX ISA, "Swizzling modes": address bits 4 to 6 (5, 4) are XORed with bits 7 to 9 (8, 7).
uint32_t swizzled(TensorSwizzle swizzle, uint32_t address) {
  const uint32_t mask = span_of(swizzle) ? span_of(swizzle) / kGranule - 1 : 0;
  return address ^ (address >> 7 & mask) << 4;
}

template <typename Word, typename Add>
void add_atomically(unsigned char* to, Word value, Add&& add) {
  std::atomic_ref<Word> word(*reinterpret_cast<Word*>(to));
  Word before = word.load(std::memory_order_relaxed);
  while (!word.compare_exchange_weak(before, add(before, value), std::memory_order_relaxed)) {
  }
}

void add_element(TensorElement element, unsigned char* to, const unsigned char* from) {
  if (element == TensorElement::kFp32) {
    uint32_t bits;
    std::memcpy(&bits, from, sizeof(bits));
    return add_atomically(to, bits, [](uint32_t a, uint32_t b) {
      return std::bit_cast<uint32_t>(std::bit_cast<float>(a) + std::bit_cast<float>(b));
    });
  }
  uint16_t bits;
  std::memcpy(&bits, from, sizeof(bits));
  if (element == TensorElement::kFp16) {
    return add_atomically(to, bits, [](uint16_t a, uint16_t b) {
      return fp16_from_float(float_from_fp16(a) + float_from_fp16(b));
    });
  }
  add_atomically(to, bits, [](uint16_t a, uint16_t b) {
    return bf16_from_float(float_from_bf16(a) + float_from_bf16(b));
  });
}

// Calls visit(row of the box, global address of its element 0 or null where the row is outside,
// first and end of its elements inside).
template <typename Visit>
void for_each_row(const TensorCopy& copy, Visit&& visit) {
  const int64_t first = std::clamp<int64_t>(-copy.at[0], 0, copy.box[0]);
  const int64_t end = std::clamp<int64_t>(copy.sizes[0] - copy.at[0], first, copy.box[0]);
  std::array<int64_t, kMaxRank> index{};
  for (uint32_t row = 0; row < copy.rows; ++row) {
    // In integers: the row's beginning may lie outside the tensor.
    int64_t offset = copy.at[0] * copy.strides[0];
    bool inside = true;
    for (unsigned d = 1; d < copy.rank; ++d) {
      const int64_t at = copy.at[d] + index[d];
      inside &= at >= 0 && at < copy.sizes[d];
      offset += at * copy.strides[d];
    }
    visit(row, offset, inside ? first : 0, inside ? end : 0);
    for (unsigned d = 1; d < copy.rank && ++index[d] == copy.box[d]; ++d) index[d] = 0;
  }
}

}  // namespace

bool TensorCopy::global_range(uintptr_t& begin, uint64_t& bytes) const {
  int64_t low = 0, high = 0;
  for (unsigned d = 0; d < rank; ++d) {
    const int64_t first = std::max<int64_t>(at[d], 0);
    const int64_t last = std::min(at[d] + box[d], sizes[d]) - 1;
    if (last < first) return false;
    low += first * strides[d];
    high += last * strides[d];
  }
  begin = reinterpret_cast<uintptr_t>(address) + static_cast<uint64_t>(low);
  bytes = static_cast<uint64_t>(high - low + strides[0]);
  return true;
}

void TensorCopy::load(unsigned char* shared, uint32_t offset) const {
  const auto element_bytes = static_cast<uint32_t>(strides[0]);
  for_each_row(*this, [&](uint32_t row, int64_t global, int64_t first, int64_t end) {
    const uint32_t to = offset + row * pitch;
    if (swizzle == TensorSwizzle::kNone) {
      std::memset(shared + to, 0, row_bytes);
      if (end > first)
        std::memcpy(shared + to + first * element_bytes, address + global + first * element_bytes,
                    static_cast<size_t>(end - first) * element_bytes);
      return;
    }
    const int64_t begin_byte = first * element_bytes, end_byte = end * element_bytes;
    for (uint32_t at_byte = 0; at_byte < row_bytes; at_byte += kGranule) {
      unsigned char* granule = shared + swizzled(swizzle, to + at_byte);
      const int64_t from = std::max<int64_t>(begin_byte, at_byte);
      const int64_t until = std::min<int64_t>(end_byte, at_byte + kGranule);
      if (until - from != kGranule) std::memset(granule, 0, kGranule);
      if (until > from)
        std::memcpy(granule + from - at_byte, address + global + from,
                    static_cast<size_t>(until - from));
    }
  });
}

void TensorCopy::store(const unsigned char* shared, uint32_t offset) const {
  const auto element_bytes = static_cast<uint32_t>(strides[0]);
  for_each_row(*this, [&](uint32_t row, int64_t global, int64_t first, int64_t end) {
    const uint32_t from = offset + row * pitch;
    if (!adds && swizzle == TensorSwizzle::kNone) {
      if (end > first)
        std::memcpy(address + global + first * element_bytes, shared + from + first * element_bytes,
                    static_cast<size_t>(end - first) * element_bytes);
      return;
    }
    for (int64_t i = first; i < end; ++i) {
      const auto at_byte = static_cast<uint32_t>(i * element_bytes);
      const unsigned char* source = shared + swizzled(swizzle, from + at_byte);
      unsigned char* to = address + global + at_byte;
      if (adds) {
        add_element(element, to, source);
      } else {
        std::memcpy(to, source, element_bytes);
      }
    }
  });
}

TensorCopy plain_copy(const void* address, uint32_t count) {
  TensorCopy copy;
  copy.address = static_cast<unsigned char*>(const_cast<void*>(address));
  copy.rank = 1;
  copy.sizes[0] = copy.box[0] = count;
  copy.strides[0] = 1;
  copy.row_bytes = copy.pitch = count;
  copy.rows = 1;
  return copy;
}

TensorMap encode(const TensorMapSpec& spec) {
  const auto refuse = [](const std::string& what) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "emulator: a tensor map {}", what);
  };
  const uint32_t element_bytes = bytes_of(spec.element);
  if (spec.rank < 1 || spec.rank > kMaxRank)
    refuse(fmt::format("of rank {}; allowed: 1 to {}", spec.rank, kMaxRank));
  if (reinterpret_cast<uintptr_t>(spec.address) % 16 != 0)
    refuse(
        fmt::format("of a tensor at {}; allowed: multiples of 16 bytes", fmt::ptr(spec.address)));
  for (unsigned d = 0; d < spec.rank; ++d) {
    if (spec.sizes[d] < 1 || spec.sizes[d] > uint64_t{1} << 32)
      refuse(fmt::format("of size {} in dimension {}; allowed: 1 to 2^32", spec.sizes[d], d));
    if (spec.box[d] < 1 || spec.box[d] > 256)
      refuse(fmt::format("with a box of {} in dimension {}; allowed: 1 to 256", spec.box[d], d));
    if (d > 0 && (spec.strides[d - 1] % 16 != 0 || spec.strides[d - 1] >= uint64_t{1} << 40))
      refuse(fmt::format(
          "with a stride of {} bytes in dimension {}; allowed: multiples of 16 below 2^40",
          spec.strides[d - 1], d));
  }
  const uint32_t row_bytes = spec.box[0] * element_bytes, span = span_of(spec.swizzle);
  if (row_bytes % 16 != 0)
    refuse(fmt::format("with rows of {} bytes in its box; allowed: multiples of 16", row_bytes));
  if (span && row_bytes > span)
    refuse(fmt::format(
        "with rows of {} bytes in its box under the swizzle of {} bytes; allowed: up to {}",
        row_bytes, span, span));
  Encoded encoded{};
  encoded.magic = kMagic;
  encoded.address = spec.address;
  encoded.sizes = spec.sizes;
  encoded.strides = spec.strides;
  for (unsigned d = 0; d < kMaxRank; ++d) encoded.box[d] = static_cast<uint16_t>(spec.box[d]);
  encoded.element = spec.element;
  encoded.rank = spec.rank;
  encoded.swizzle = spec.swizzle;
  TensorMap map{};
  std::memcpy(&map, &encoded, sizeof(encoded));
  return map;
}

std::string decode(const void* map, unsigned rank, const int* at, TensorCopy& copy) {
  Encoded encoded;
  if (reinterpret_cast<uintptr_t>(map) % alignof(TensorMap) != 0)
    return fmt::format("misaligned: a tensor map at {}, which is not a multiple of {}",
                       fmt::ptr(map), alignof(TensorMap));
  std::memcpy(&encoded, map, sizeof(encoded));
  if (encoded.magic != kMagic)
    return fmt::format("no tensor map is at {}: it was not made by this device's encode_tensor_map",
                       fmt::ptr(map));
  if (encoded.rank != rank)
    return fmt::format("{} coordinates for a tensor map of rank {}", rank, encoded.rank);
  copy = {};
  copy.address = static_cast<unsigned char*>(const_cast<void*>(encoded.address));
  copy.rank = rank;
  copy.element = encoded.element;
  copy.swizzle = encoded.swizzle;
  copy.strides[0] = bytes_of(encoded.element);
  copy.rows = 1;
  for (unsigned d = 0; d < rank; ++d) {
    copy.sizes[d] = static_cast<int64_t>(encoded.sizes[d]);
    copy.box[d] = encoded.box[d];
    copy.at[d] = at[d];
    if (d > 0) {
      copy.strides[d] = static_cast<int64_t>(encoded.strides[d - 1]);
      copy.rows *= encoded.box[d];
    }
  }
  copy.row_bytes = static_cast<uint32_t>(copy.box[0] * copy.strides[0]);
  copy.pitch = std::max(copy.row_bytes, span_of(encoded.swizzle));
  return "";
}

}  // namespace ffpa_jit::emulator
