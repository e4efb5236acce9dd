// Shape classes: the shapes that share a plan. A plan is made for a class, so that a growing KV
// cache does not make a new plan for every token.
#pragma once

#include <cstdint>

#include "problem/problem.h"

namespace ffpa_jit {

// Sizes up to 7 are their own class (decode); from 8 on, one class per power of two
// [2^n, 2^(n+1)). Every routing rule's boundary (8, 512) is a class boundary.
struct ShapeClass {
  uint8_t seqlen_q = 0;
  uint8_t seqlen_k = 0;
  uint8_t parallel = 0;  // batch * heads_kv

  bool operator==(const ShapeClass&) const = default;
};

ShapeClass shape_class(const Shape& shape);

// The smallest shape of `shape`'s class: what routing and heuristics are shown, so that they cannot
// depend on more than the class.
Shape canonical_shape(const Problem& problem, const Shape& shape);

}  // namespace ffpa_jit
