#include "codegen/filters.h"

#include <map>

#include "codegen/failure.h"

namespace ffpa_jit::codegen {
namespace {

const std::map<std::string_view, const FilterEntry*>& filters_by_name() {
  static const auto by_name = [] {
    std::map<std::string_view, const FilterEntry*> result;
    for (auto table : {kTextFilters, kNumberFilters, kSequenceFilters, kSelectionFilters}) {
      for (const FilterEntry& filter : table) result.emplace(filter.name, &filter);
    }
    return result;
  }();
  return by_name;
}

constexpr std::string_view kOutsideSubset =
    " filesizeformat pprint random striptags urlencode urlize wordwrap xmlattr ";

}  // namespace

const FilterEntry* find_filter(std::string_view name) {
  auto found = filters_by_name().find(name);
  return found == filters_by_name().end() ? nullptr : found->second;
}

std::string unknown_filter(std::string_view name) {
  if (kOutsideSubset.find(fmt::format(" {} ", name)) != std::string_view::npos) {
    return fmt::format("the filter '{}' is outside the supported subset of Jinja2", name);
  }
  return fmt::format("there is no filter '{}'", name);
}

Value apply_filter(Interpreter& interpreter, const FilterEntry& filter, const Value& input,
                   const CallArguments& arguments) {
  if (filter.variadic) return filter.variadic(interpreter, input, arguments);
  return filter.function(interpreter, input, bind(filter.name, filter.parameters, arguments));
}

}  // namespace ffpa_jit::codegen
