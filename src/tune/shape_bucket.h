// Shape buckets: the shapes that share a tuning, and how far one bucket is from another. A bucket
// is a shape class (plan/shape_class.h): what a plan is made for is what is tuned.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "problem/problem.h"

namespace ffpa_jit {

// "q=8192 k=8192 heads=32": the smallest shape of the class; heads = batch * key/value heads.
std::string bucket_text(const Problem& problem, const Shape& shape);
// The class's smallest shape. Throws Error INVALID_ARGUMENT.
Shape parse_bucket(const Problem& problem, std::string_view text);

// Classes between two shapes, summed over the sizes: 0 in one bucket, 1 where one size doubles.
// nullopt: a config for one says nothing about the other (few queries against many, or few queries
// and another number of keys to split).
std::optional<int> bucket_distance(const Shape& a, const Shape& b);

}  // namespace ffpa_jit
