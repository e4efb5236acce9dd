#include "plan/features.h"

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

std::optional<std::string> lacks(const Problem& problem, std::initializer_list<Feature> served) {
  for (const Row& row : kRows) {
    if (row.wanted(problem) && std::ranges::find(served, row.feature) == served.end()) {
      return std::string(row.reason);
    }
  }
  return std::nullopt;
}

}  // namespace ffpa_jit
