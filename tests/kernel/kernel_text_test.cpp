#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "kernel/kernel_binary.h"
#include "kernel/kernel_config.h"
#include "kernel/params.h"
#include "problem/expect_error.h"

namespace ffpa_jit {
namespace {

constexpr ffpa_jit_status kInvalid = FFPA_JIT_INVALID_ARGUMENT;

TEST(KernelConfig, TextHasTheNonZeroFieldsInOrder) {
  EXPECT_EQ(text_of(KernelConfig{}), "");
  KernelConfig c;
  c.num_warps = 4;
  c.block_n = 32;
  c.block_m = 64;
  EXPECT_EQ(text_of(c), "block_m=64 block_n=32 num_warps=4");
}

TEST(KernelConfig, RandomConfigsRoundTrip) {
  std::mt19937_64 random(3);
  const auto field = [&]() -> int {
    return random() % 3 == 0 ? 0 : static_cast<int>(random() % 1024 + 1);
  };
  for (int i = 0; i < 5000; ++i) {
    const KernelConfig c{field(), field(), field(), field(), field(), field(), field()};
    ASSERT_EQ(parse_config(text_of(c)), c) << text_of(c);
  }
  const int max = std::numeric_limits<int>::max();
  const KernelConfig largest{max, max, max, max, max, max, max};
  EXPECT_EQ(parse_config(text_of(largest)), largest);
}

TEST(KernelConfig, ParserIsStrict) {
  EXPECT_FFPA_ERROR(parse_config("block_m=0"), kInvalid,
                    "kernel config \"block_m=0\": block_m is \"0\"; allowed: a whole number from 1 "
                    "to 2147483647");
  EXPECT_FFPA_ERROR(
      parse_config("block_m=64 warps=4"), kInvalid,
      "kernel config \"block_m=64 warps=4\": \"warps=4\" is not expected here; allowed: block_m=, "
      "block_n=, block_d=, num_stages=, num_warps=, cluster=, split_kv=, in this order, each at "
      "most once");
  for (std::string_view wrong :
       {" ", "block_m", "block_m=", "block_m=-1", "block_m=1x", "block_m=2147483648",
        "block_n=1 block_m=1", "block_m=1 block_m=1", "block_m=1  block_n=1", "block_m=1 "}) {
    EXPECT_THROW(parse_config(wrong), Error) << wrong;
  }
}

TEST(KernelResources, TextHasTheKnownFieldsInOrder) {
  EXPECT_EQ(text_of(KernelResources{}), "");
  KernelResources r;
  r.registers = 96;
  r.spill_bytes = 0;
  r.code_bytes = 12345678901;
  EXPECT_EQ(text_of(r), "registers=96 spill_bytes=0 code_bytes=12345678901");
  EXPECT_EQ(parse_resources(text_of(r)), r);
}

TEST(KernelResources, RandomResourcesRoundTrip) {
  std::mt19937_64 random(4);
  const auto field = [&]() -> int { return static_cast<int>(random() % 300) - 1; };
  for (int i = 0; i < 5000; ++i) {
    const int64_t code_bytes = random() % 2 ? -1 : static_cast<int64_t>(random() >> 1);
    const KernelResources r{field(), field(), field(), field(), code_bytes};
    ASSERT_EQ(parse_resources(text_of(r)), r) << text_of(r);
  }
}

TEST(KernelResources, ParserIsStrict) {
  EXPECT_FFPA_ERROR(
      parse_resources("registers=-1"), kInvalid,
      "kernel resources \"registers=-1\": registers is \"-1\"; allowed: a whole number from 0 to "
      "2147483647");
  for (std::string_view wrong :
       {"spill_bytes=0 registers=1", "registers=1 registers=2", "x", "registers=1 "}) {
    EXPECT_THROW(parse_resources(wrong), Error) << wrong;
  }
}

TEST(BinaryFormat, NamesRoundTrip) {
  EXPECT_EQ(name_of(BinaryFormat::kCubin), "cubin");
  EXPECT_EQ(name_of(BinaryFormat::kElfSharedObject), "elf-so");
  EXPECT_EQ(name_of(BinaryFormat::kHsaCodeObject), "hsaco");
  for (BinaryFormat f :
       {BinaryFormat::kCubin, BinaryFormat::kElfSharedObject, BinaryFormat::kHsaCodeObject}) {
    EXPECT_EQ(binary_format_of(name_of(f)), f);
  }
  EXPECT_FFPA_ERROR(binary_format_of("elf"), kInvalid,
                    "binary format is \"elf\"; allowed: cubin, elf-so, hsaco");
}

// Its layout is asserted where the library is compiled: src/kernel/params_layout.cpp.
TEST(ForwardParams, IsZeroInitialisableAndCopyable) {
  ForwardParams params{};
  const auto* bytes = reinterpret_cast<const unsigned char*>(&params);
  for (size_t i = 0; i < sizeof(params); ++i) ASSERT_EQ(bytes[i], 0) << i;
  params.philox_offset = ~0ull;
  const ForwardParams copy = params;
  EXPECT_EQ(copy.philox_offset, ~0ull);
  EXPECT_EQ(copy.philox_seed, 0u);
}

}  // namespace
}  // namespace ffpa_jit
