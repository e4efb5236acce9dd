#include "base/closest_name.h"

#include <gtest/gtest.h>

#include <array>

namespace ffpa_jit {
namespace {

TEST(ClosestName, ByCharactersInsertedDroppedOrReplaced) {
  const std::array<std::string_view, 4> known = {"--heads", "--head-dim", "--head-dim-v", "--mask"};
  EXPECT_EQ(closest_name("--hed-dim", known), "--head-dim");
  EXPECT_EQ(closest_name("--head-dimv", known), "--head-dim");  // one away from both: the first
  EXPECT_EQ(closest_name("--task", known), "--mask");
  EXPECT_EQ(closest_name("--mask", known), "--mask");
  EXPECT_EQ(closest_name("", known), "--mask");  // all away from it: the shortest
}

}  // namespace
}  // namespace ffpa_jit
