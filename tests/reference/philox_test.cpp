#include "reference/philox.h"

#include <gtest/gtest.h>

namespace ffpa_jit::reference {
namespace {

using Words4 = std::array<uint32_t, 4>;

// Random123's known-answer vectors for philox4x32 with 10 rounds.
TEST(Philox, MatchesTheKnownAnswers) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}),
            (Words4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(
      philox4x32_10({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
      (Words4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Words4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(DropoutUniform, FourElementsShareOneCounter) {
  const Words4 numbers = philox4x32_10({5, 1, 0, 0}, {0x89abcdef, 0x01234567});
  for (uint64_t lane = 0; lane < 4; ++lane) {
    const uint64_t index = (((uint64_t{1} << 32) + 5) << 2) + lane;
    EXPECT_EQ(dropout_uniform(0x0123456789abcdef, index),
              (static_cast<float>(numbers[lane]) + 1.0f) * 0x1p-32f);
  }
}

TEST(DropoutUniform, LiesAboveZeroAndUpToOne) {
  double sum = 0;
  for (uint64_t i = 0; i < 100'000; ++i) {
    const float u = dropout_uniform(42, i);
    ASSERT_GT(u, 0.0f);
    ASSERT_LE(u, 1.0f);
    sum += u;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.005);
}

}  // namespace
}  // namespace ffpa_jit::reference
