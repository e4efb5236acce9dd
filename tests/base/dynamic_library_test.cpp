#include "base/dynamic_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ffpa_jit {
namespace {

using ::testing::HasSubstr;

TEST(DynamicLibrary, TriesNamesInOrderAndSaysWhichLoaded) {
  std::string reason = "stale";
  const auto library = DynamicLibrary::open({"libffpa_no_such_thing.so.1", "libm.so.6"}, &reason);
  ASSERT_TRUE(library) << reason;
  EXPECT_EQ(library->name(), "libm.so.6");
  const auto cosine = reinterpret_cast<double (*)(double)>(library->symbol("cos"));
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0.0), 1.0);
  EXPECT_EQ(library->symbol("ffpa_no_such_symbol"), nullptr);
}

TEST(DynamicLibrary, GivesTheLoadersWordsForEveryName) {
  std::string reason;
  EXPECT_FALSE(DynamicLibrary::open({"libffpa_absent_a.so", "libffpa_absent_b.so"}, &reason));
  EXPECT_THAT(reason, HasSubstr("libffpa_absent_a.so"));
  EXPECT_THAT(reason, HasSubstr("libffpa_absent_b.so"));
}

TEST(DynamicLibrary, NoNamesAndNoReasonAreFine) {
  EXPECT_FALSE(DynamicLibrary::open({}, nullptr));
  EXPECT_FALSE(DynamicLibrary::open({"libffpa_absent.so"}, nullptr));
}

TEST(DynamicLibrary, MovesKeepTheSymbol) {
  auto first = DynamicLibrary::open({"libm.so.6"}, nullptr);
  ASSERT_TRUE(first);
  DynamicLibrary second = std::move(*first);
  EXPECT_EQ(first->symbol("cos"), nullptr);
  EXPECT_NE(second.symbol("cos"), nullptr);
  DynamicLibrary third = std::move(second);
  third.keep_loaded();
  EXPECT_EQ(third.name(), "libm.so.6");
  EXPECT_NE(third.symbol("cos"), nullptr);
}

}  // namespace
}  // namespace ffpa_jit
