// Arguments of a call, and binding them to the parameters of a built-in function.
#pragma once

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/value.h"

namespace ffpa_jit::codegen {

struct CallArguments {
  std::vector<Value> positional;
  std::vector<std::pair<const String*, Value>> keyword;
};

// A built-in's parameters: their names in order, how many must be given. An empty name ends the
// list.
struct Parameters {
  static constexpr size_t kMost = 6;
  std::array<std::string_view, kMost> names{};
  size_t required = 0;
  bool positional_only = false;
};

// Values by parameter; missing where nothing was given.
using BoundArguments = std::array<Value, Parameters::kMost>;

// Throws Failure for too many, too few, unknown or doubled arguments; `function` names the callee.
BoundArguments bind(std::string_view function, const Parameters& parameters,
                    const CallArguments& arguments);

}  // namespace ffpa_jit::codegen
