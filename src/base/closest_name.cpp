#include "base/closest_name.h"

#include <algorithm>
#include <vector>

namespace ffpa_jit {
namespace {

// Levenshtein distance.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view closest_name(std::string_view name, std::span<const std::string_view> known) {
  return *std::ranges::min_element(
      known, {}, [&](std::string_view each) { return edit_distance(name, each); });
}

}  // namespace ffpa_jit
