// 128-bit content hash (XXH3): names kernels in the cache and guards stored bytes. Not
// cryptographic.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace ffpa_jit {

struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;

  auto operator<=>(const Hash128&) const = default;
  std::string hex() const;                  // 32 lower-case digits
  std::array<std::byte, 16> bytes() const;  // big-endian: hex() and bytes() sort alike
};

Hash128 hash128(std::span<const std::byte> data);
Hash128 hash128(std::string_view text);

// Hash of several texts such that moving a character from one to the next changes the result
// (each is preceded by its length).
Hash128 hash128_of(std::initializer_list<std::string_view> parts);

}  // namespace ffpa_jit
