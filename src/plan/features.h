// Features that not every family has. A family's refuses() names those it serves; what a problem
// asks beyond them is a reason to refuse.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "problem/problem.h"

namespace ffpa_jit {

enum class Feature { kScoreModifier, kSinks, kSeqlensK, kPagedKv };
inline constexpr std::initializer_list<Feature> kEveryFeature = {
    Feature::kScoreModifier, Feature::kSinks, Feature::kSeqlensK, Feature::kPagedKv};

// What no family computes, as refuses() returns it: asked by those that serve everything else
// (sdpa, portable).
std::optional<std::string> refused_by_all(const Problem& problem);

// nullopt when `problem` needs none but `served`; else the first other one, as refuses() returns
// it.
std::optional<std::string> lacks(const Problem& problem, std::initializer_list<Feature> served);

}  // namespace ffpa_jit
