#include "plan/shape_class.h"

#include <gtest/gtest.h>

namespace ffpa_jit {
namespace {

Shape shape(int64_t batch, int64_t heads_kv, int64_t seqlen_q, int64_t seqlen_k, int group = 1) {
  Shape s;
  s.batch = batch;
  s.heads_kv = heads_kv;
  s.heads_q = heads_kv * group;
  s.seqlen_q = seqlen_q;
  s.seqlen_k = seqlen_k;
  s.total_q = batch * seqlen_q;
  s.total_k = batch * seqlen_k;
  return s;
}

TEST(ShapeClass, CanonicalShapeIsInItsOwnClassAndNeverLarger) {
  Problem problem;
  problem.gqa_group = 4;
  for (int64_t n = 0; n < 5000; ++n) {
    const Shape given = shape(3, n % 37, n, 2 * n, 4);
    const Shape canonical = canonical_shape(problem, given);
    EXPECT_EQ(shape_class(canonical), shape_class(given)) << n;
    EXPECT_LE(canonical.seqlen_q, given.seqlen_q);
    EXPECT_LE(canonical.seqlen_k, given.seqlen_k);
    EXPECT_EQ(canonical.heads_q, canonical.heads_kv * 4);
  }
}

TEST(ShapeClass, RoutingBoundariesAreClassBoundaries) {
  for (int64_t boundary : {8, 512}) {
    EXPECT_NE(shape_class(shape(1, 1, boundary - 1, 1)), shape_class(shape(1, 1, boundary, 1)));
    EXPECT_NE(shape_class(shape(1, 1, 1, boundary - 1)), shape_class(shape(1, 1, 1, boundary)));
  }
}

TEST(ShapeClass, DecodeLengthsAreTheirOwnClasses) {
  for (int64_t n = 0; n < 8; ++n) {
    EXPECT_NE(shape_class(shape(1, 1, n, 1)), shape_class(shape(1, 1, n + 1, 1))) << n;
  }
}

TEST(ShapeClass, GrowingCacheStaysInFewClasses) {
  int classes = 0;
  ShapeClass last;
  for (int64_t keys = 1024; keys < 32768; ++keys) {
    const ShapeClass now = shape_class(shape(1, 8, 1, keys));
    classes += now != last;
    last = now;
  }
  EXPECT_EQ(classes, 5);
}

}  // namespace
}  // namespace ffpa_jit
