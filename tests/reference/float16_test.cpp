#include "base/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ffpa_jit {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct KnownValue {
  float value;
  uint16_t bits;
};

TEST(Fp16, KnownValues) {
  for (const KnownValue& known : {KnownValue{0.0f, 0x0000},
                                  {-0.0f, 0x8000},
                                  {1.0f, 0x3c00},
                                  {-2.0f, 0xc000},
                                  {65504.0f, 0x7bff},
                                  {0x1p-14f, 0x0400},      // smallest normal
                                  {0x1p-24f, 0x0001},      // smallest subnormal
                                  {0x1.ff8p-15f, 0x03ff},  // largest subnormal
                                  {0.333251953125f, 0x3555},
                                  {kInfinity, 0x7c00},
                                  {-kInfinity, 0xfc00}}) {
    EXPECT_EQ(fp16_from_float(known.value), known.bits) << known.value;
    EXPECT_EQ(float_from_fp16(known.bits), known.value) << known.bits;
  }
}

TEST(Fp16, RoundsToNearestEven) {
  EXPECT_EQ(fp16_from_float(1.0f + 0x1p-11f), 0x3c00);             // tie, down to even
  EXPECT_EQ(fp16_from_float(1.0f + 0x1.8p-10f), 0x3c02);           // tie, up to even
  EXPECT_EQ(fp16_from_float(1.0f + 0x1p-11f + 0x1p-20f), 0x3c01);  // just above the tie
  EXPECT_EQ(fp16_from_float(0x1p-25f), 0x0000);                    // tie between 0 and the smallest
  EXPECT_EQ(fp16_from_float(0x1.000002p-25f), 0x0001);
  EXPECT_EQ(fp16_from_float(0x1.8p-24f), 0x0002);
  EXPECT_EQ(fp16_from_float(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(fp16_from_float(65520.0f), 0x7c00);
  EXPECT_EQ(fp16_from_float(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(fp16_from_float(std::numeric_limits<float>::denorm_min()), 0x0000);
}

TEST(Fp16, EveryValueSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = float_from_fp16(half);
    if ((bits & 0x7fff) > 0x7c00) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(float_from_fp16(fp16_from_float(value)))) << bits;
      continue;
    }
    EXPECT_EQ(fp16_from_float(value), half);
    // From the definition: sign, exponent with bias 15, ten bits of mantissa.
    const int exponent = static_cast<int>(bits >> 10 & 31),
              mantissa = static_cast<int>(bits & 1023);
    double expected = exponent == 31  ? double(kInfinity)
                      : exponent == 0 ? std::ldexp(mantissa, -24)
                                      : std::ldexp(1024 + mantissa, exponent - 25);
    if (bits & 0x8000) expected = -expected;
    ASSERT_EQ(value, expected) << bits;
  }
}

// Between any two neighbours: the midpoint goes to the even one, a hair off it to the nearer one.
TEST(Fp16, EveryMidpointRoundsRight) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const double low = float_from_fp16(static_cast<uint16_t>(bits));
    const double high = float_from_fp16(static_cast<uint16_t>(bits + 1));
    const float middle = static_cast<float>((low + high) / 2);  // exact: 12 significant bits
    ASSERT_EQ(fp16_from_float(middle), bits % 2 ? bits + 1 : bits);
    ASSERT_EQ(fp16_from_float(std::nextafter(middle, 0.0f)), bits);
    ASSERT_EQ(fp16_from_float(std::nextafter(middle, kInfinity)), bits + 1);
  }
}

TEST(Bf16, KnownValues) {
  for (const KnownValue& known : {KnownValue{0.0f, 0x0000},
                                  {-0.0f, 0x8000},
                                  {1.0f, 0x3f80},
                                  {-2.0f, 0xc000},
                                  {0x1.fep127f, 0x7f7f},
                                  {0x1p-126f, 0x0080},
                                  {0x1p-133f, 0x0001},
                                  {kInfinity, 0x7f80},
                                  {-kInfinity, 0xff80}}) {
    EXPECT_EQ(bf16_from_float(known.value), known.bits) << known.value;
    EXPECT_EQ(float_from_bf16(known.bits), known.value) << known.bits;
  }
}

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(bf16_from_float(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(bf16_from_float(1.0f + 0x1.8p-7f), 0x3f82);
  EXPECT_EQ(bf16_from_float(1.0f + 0x1p-8f + 0x1p-20f), 0x3f81);
  EXPECT_EQ(bf16_from_float(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(std::isnan(float_from_bf16(bf16_from_float(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_TRUE(std::isnan(float_from_bf16(bf16_from_float(std::bit_cast<float>(0xffffffffu)))));
}

}  // namespace
}  // namespace ffpa_jit
