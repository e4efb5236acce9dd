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

// text_of(parse(text)), with the limits of what a host may write: 2048 characters, 64 levels of
// nesting. A text that this thread asked for lately costs a comparison.
std::string canonical(std::string_view text, const ModifierTensors& tensors);

}  // namespace ffpa_jit::modifier
