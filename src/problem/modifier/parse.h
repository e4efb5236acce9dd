// Reads a score modifier. Called by the API for what a host wrote, and by everything that holds a
// Problem for the canonical text in it.
#pragma once

#include <string_view>

#include "problem/modifier/expression.h"
#include "problem/problem.h"

namespace ffpa_jit::modifier {

// Throws Error INVALID_ARGUMENT with the column, what stands there and what is allowed. A tensor
// whose rank is 0 may not be read.
Expression parse(std::string_view text, const ModifierTensors& tensors);

struct Written {
  std::string canonical;
  Expression expression;
};
// What a host wrote, with limits of its own: 2048 characters, 64 levels of nesting. The text of
// this thread's last call costs a comparison: warm calls repeat theirs. Valid until the thread's
// next call.
const Written& read_written(std::string_view text, const ModifierTensors& tensors);

// Its canonical text alone.
std::string canonical(std::string_view text, const ModifierTensors& tensors);

}  // namespace ffpa_jit::modifier
