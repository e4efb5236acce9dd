// The known name that a misspelt one probably means, for messages.
#pragma once

#include <span>
#include <string_view>

namespace ffpa_jit {

// Fewest insertions, deletions and replacements of characters away from `name`; the first of
// several such. `known` is not empty.
std::string_view closest_name(std::string_view name, std::span<const std::string_view> known);

}  // namespace ffpa_jit
