#include "base/hash.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ffpa_jit {

std::string Hash128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

std::array<std::byte, 16> Hash128::bytes() const {
  std::array<std::byte, 16> out{};
  for (int i = 0; i < 8; ++i) {
    out[i] = static_cast<std::byte>(high >> (56 - 8 * i));
    out[8 + i] = static_cast<std::byte>(low >> (56 - 8 * i));
  }
  return out;
}

Hash128 hash128(std::span<const std::byte> data) {
  const XXH128_hash_t h = XXH3_128bits(data.data(), data.size());
  return {h.high64, h.low64};
}

Hash128 hash128(std::string_view text) { return hash128(std::as_bytes(std::span(text))); }

Hash128 hash128_of(std::initializer_list<std::string_view> parts) {
  std::string joined;
  for (std::string_view part : parts) {
    const uint64_t size = part.size();
    joined.append(reinterpret_cast<const char*>(&size), sizeof(size));
    joined.append(part);
  }
  return hash128(joined);
}

}  // namespace ffpa_jit
