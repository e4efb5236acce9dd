// Sorting with Python's stability and errors, and filling dicts: shared by methods, filters and
// globals.
#pragma once

#include <vector>

#include "codegen/arguments.h"
#include "codegen/heap.h"
#include "codegen/value.h"

namespace ffpa_jit::codegen {

// Sorts `items` by `keys` (one each). Descending keeps the order of equal elements too.
void sort_by_keys(Heap& heap, std::vector<Value>& items, const std::vector<Value>& keys,
                  bool descending);

// dict(mapping or pairs, **keywords)
void fill_dict(Heap& heap, Dict& dict, const CallArguments& arguments);

}  // namespace ffpa_jit::codegen
