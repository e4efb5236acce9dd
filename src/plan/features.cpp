#include "plan/features.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace ffpa_jit {
namespace {

struct Row {
  Feature feature;
  bool (*wanted)(const Problem&);
  std::string_view reason;
};

constexpr Row kRows[] = {
    {Feature::kScoreModifier, [](const Problem& p) { return !p.score_modifier.empty(); },
     "has no score modifiers"},
    {Feature::kSinks, [](const Problem& p) { return p.sinks; }, "has no attention sinks"},
    {Feature::kPagedKv, [](const Problem& p) { return p.page_size != 0; },
     "does not read K and V in pages"},
    {Feature::kSeqlensK, [](const Problem& p) { return p.seqlens_k; },
     "does not take each sequence's number of keys (seqlens_k)"},
};

}  // namespace

std::optional<std::string> refused_by_all(const Problem& problem) {
  if (problem.direction != Direction::kForward) return "has a forward kernel only";
  if (problem.dtype != DType::kFp32 && problem.dtype != DType::kFp16 &&
      problem.dtype != DType::kBf16) {
    return fmt::format("dtype {} is not fp32, fp16 or bf16", name_of(problem.dtype));
  }
  for (int head_dim : {problem.head_dim, problem.head_dim_v}) {
    if (head_dim < 1 || head_dim > kMaxHeadDim) {
      return fmt::format("head dim {} is outside 1 to {}", head_dim, kMaxHeadDim);
    }
  }
  if (problem.has_bias && problem.bias_dtype != DType::kFp32 &&
      problem.bias_dtype != problem.dtype) {
    return fmt::format("a bias is fp32 or {}, not {}", name_of(problem.dtype),
                       name_of(problem.bias_dtype));
  }
  return std::nullopt;
}

std::optional<std::string> lacks(const Problem& problem, std::initializer_list<Feature> served) {
  for (const Row& row : kRows) {
    if (row.wanted(problem) && std::ranges::find(served, row.feature) == served.end()) {
      return std::string(row.reason);
    }
  }
  return std::nullopt;
}

}  // namespace ffpa_jit
