#include "plan/shape_class.h"

#include <bit>

namespace ffpa_jit {
namespace {

constexpr int64_t kExact = 7;

uint8_t class_of(int64_t size) {
  if (size <= kExact) return static_cast<uint8_t>(size < 0 ? 0 : size);
  return static_cast<uint8_t>(kExact + std::bit_width(static_cast<uint64_t>(size)) - 3);
}

int64_t smallest_of(int64_t size) {
  return size <= kExact ? size : static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(size)));
}

}  // namespace

ShapeClass shape_class(const Shape& shape) {
  return {class_of(shape.seqlen_q), class_of(shape.seqlen_k),
          class_of(shape.batch * shape.heads_kv)};
}

Shape canonical_shape(const Problem& problem, const Shape& shape) {
  Shape smallest;
  smallest.batch = 1;
  smallest.heads_kv = smallest_of(shape.batch * shape.heads_kv);
  smallest.heads_q = smallest.heads_kv * problem.gqa_group;
  smallest.seqlen_q = smallest_of(shape.seqlen_q);
  smallest.seqlen_k = smallest_of(shape.seqlen_k);
  smallest.total_q = smallest.seqlen_q;
  smallest.total_k = smallest.seqlen_k;
  return smallest;
}

}  // namespace ffpa_jit
