// What a render may use up. A template, or a context, that asks for more gets a TEMPLATE_ERROR that
// names the limit.
#pragma once

#include <cstddef>

namespace ffpa_jit::codegen {

struct Limits {
  size_t source_bytes = size_t{8} << 20;  // one template
  size_t syntax_depth = 200;              // nested blocks, parentheses and brackets in one template
  size_t call_depth = 1000;  // nested evaluations: macros, includes, recursive loops, expressions
  size_t value_depth = 100;  // lists in lists, when printed, compared or serialised
  size_t steps = size_t{5} << 20;  // loop iterations, copied and compared elements, in one render
  size_t output_bytes = size_t{64} << 20;   // the rendered text
  size_t memory_bytes = size_t{512} << 20;  // all values made during one render
};

}  // namespace ffpa_jit::codegen
