#include "tune/shape_bucket.h"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>

#include "plan/shape_class.h"
#include "problem/canonical_text.h"

namespace ffpa_jit {
namespace {

constexpr int64_t kDecodeQueries =
    7;  // as in PARITY of routing: fewer than 8 queries take the decode path

}  // namespace

std::string bucket_text(const Problem& problem, const Shape& shape) {
  const Shape least = canonical_shape(problem, shape);
  return fmt::format("q={} k={} heads={}", least.seqlen_q, least.seqlen_k, least.heads_kv);
}

Shape parse_bucket(const Problem& problem, std::string_view text) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  CanonicalReader reader("shape bucket", text);
  Shape shape;
  shape.seqlen_q = reader.integer("q", 0, kMax);
  shape.seqlen_k = reader.integer("k", 0, kMax);
  shape.heads_kv = reader.integer("heads", 0, kMax / kMaxGqaGroup);
  reader.finish("q=, k=, heads=, in this order");
  shape.heads_q = shape.heads_kv * problem.gqa_group;
  return canonical_shape(problem, shape);
}

std::optional<int> bucket_distance(const Shape& a, const Shape& b) {
  const ShapeClass x = shape_class(a), y = shape_class(b);
  const int distance = std::abs(x.seqlen_q - y.seqlen_q) + std::abs(x.seqlen_k - y.seqlen_k) +
                       std::abs(x.parallel - y.parallel);
  const bool x_decodes = a.seqlen_q <= kDecodeQueries, y_decodes = b.seqlen_q <= kDecodeQueries;
  if (x_decodes != y_decodes) return std::nullopt;
  // How many blocks share one sequence's keys depends on both counts.
  if (x_decodes && (x.seqlen_k != y.seqlen_k || x.parallel != y.parallel)) return std::nullopt;
  return distance;
}

}  // namespace ffpa_jit
