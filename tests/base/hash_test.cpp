#include "base/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace ffpa_jit {
namespace {

// The input of xxHash's published sanity vectors (tests/sanity_test_vectors.h of the xxHash
// project).
std::vector<std::byte> sanity_buffer(size_t size) {
  std::vector<std::byte> buffer(size);
  uint64_t generator = 2654435761u;
  for (std::byte& b : buffer) {
    b = static_cast<std::byte>(generator >> 56);
    generator *= 11400714785074694797u;
  }
  return buffer;
}

TEST(Hash128, MatchesPublishedVectorsOfXxh3) {
  const struct {
    size_t size;
    uint64_t low, high;
  } vectors[] = {
      {0, 0x6001C324468D497F, 0x99AA06D3014798D8},    {1, 0xC44BDFF4074EECDB, 0xA6CD5E9392000F6A},
      {6, 0x3E7039BDDA43CFC6, 0x082AFE0B8162D12A},    {12, 0x061A192713F69AD9, 0x6E3EFD8FC7802B18},
      {16, 0x562980258A998629, 0xC68C368ECF8A9C05},   {24, 0x1E7044D28B1B901D, 0x0CE966E4678D3761},
      {129, 0x86C9E3BC8F0A3B5C, 0x03815FC91F1B30B6},  {241, 0xC5A639ECD2030E5E, 0x99A80ECF0ECFC647},
      {4160, 0x4F323B15321E94E1, 0x67140711C1E3E335},
  };
  for (const auto& v : vectors) {
    EXPECT_EQ(hash128(sanity_buffer(v.size)), (Hash128{v.high, v.low})) << v.size << " bytes";
  }
}

TEST(Hash128, HexIsTheUsualSpelling) {
  EXPECT_EQ(hash128(std::string_view()).hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ((Hash128{0, 1}).hex(), "00000000000000000000000000000001");
}

TEST(Hash128, BytesAreBigEndianAndSortLikeHex) {
  const Hash128 a{0x0102030405060708, 0x090a0b0c0d0e0f10};
  const auto bytes = a.bytes();
  for (int i = 0; i < 16; ++i) EXPECT_EQ(static_cast<int>(bytes[i]), i + 1);
  const Hash128 b{0x0102030405060708, 0xff00000000000000};
  EXPECT_LT(a, b);
  EXPECT_LT(a.hex(), b.hex());
  EXPECT_LT(a.bytes(), b.bytes());
}

TEST(Hash128, TextAndItsBytesAreOneHash) {
  const std::string_view text = "forward bf16";
  EXPECT_EQ(hash128(text), hash128(std::as_bytes(std::span(text))));
}

TEST(Hash128Of, KeepsPartsApart) {
  std::set<Hash128> seen;
  seen.insert(hash128_of({"ab", "c"}));
  seen.insert(hash128_of({"a", "bc"}));
  seen.insert(hash128_of({"abc"}));
  seen.insert(hash128_of({"abc", ""}));
  seen.insert(hash128_of({"", "abc"}));
  seen.insert(hash128_of({}));
  seen.insert(hash128_of({""}));
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_EQ(hash128_of({"ab", "c"}), hash128_of({"ab", "c"}));
}

}  // namespace
}  // namespace ffpa_jit
