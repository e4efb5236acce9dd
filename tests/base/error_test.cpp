#include "base/error.h"

#include <gtest/gtest.h>

namespace ffpa_jit {
namespace {

TEST(Error, CarriesCodeAndFormattedMessage) {
  try {
    throw_error(FFPA_JIT_UNSUPPORTED, "head_dim is {}; allowed: {} to {}", 3000, 1, 2048);
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), FFPA_JIT_UNSUPPORTED);
    EXPECT_STREQ(error.what(), "head_dim is 3000; allowed: 1 to 2048");
  }
}

TEST(Error, MessageIsNotAFormat) {
  const Error error(FFPA_JIT_IO_ERROR, "file {} 100%");
  EXPECT_STREQ(error.what(), "file {} 100%");
}

}  // namespace
}  // namespace ffpa_jit
