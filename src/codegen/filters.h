// Filters: {{ value | name(arguments) }}. One table per file; find_filter looks through them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codegen/arguments.h"
#include "codegen/value.h"

namespace ffpa_jit::codegen {

struct FilterEntry {
  std::string_view name;
  Parameters parameters;  // after the value itself
  Value (*function)(Interpreter& interpreter, const Value& input, const BoundArguments& arguments);
  // Set instead of `function` where any arguments are taken.
  Value (*variadic)(Interpreter& interpreter, const Value& input,
                    const CallArguments& arguments) = nullptr;
};

const FilterEntry* find_filter(std::string_view name);
// "there is no filter 'x'", or that it is one of Jinja2's that this subset leaves out.
std::string unknown_filter(std::string_view name);
Value apply_filter(Interpreter& interpreter, const FilterEntry& filter, const Value& input,
                   const CallArguments& arguments);

extern const std::span<const FilterEntry> kTextFilters;       // text_filters.cpp
extern const std::span<const FilterEntry> kNumberFilters;     // number_filters.cpp
extern const std::span<const FilterEntry> kSequenceFilters;   // sequence_filters.cpp
extern const std::span<const FilterEntry> kSelectionFilters;  // selection_filters.cpp

}  // namespace ffpa_jit::codegen
