// Iterating over values, and the slices of sequences.
#pragma once

#include <functional>
#include <vector>

#include "codegen/heap.h"
#include "codegen/value.h"

namespace ffpa_jit::codegen {

// iter(x). Each step is charged to the heap. An iterator is its own iterator.
Iterator* iterate(Heap& heap, const Value& value);
bool is_iterable(const Value& value);
// list(x)
std::vector<Value> collect(Heap& heap, const Value& value);

// A Python generator: `next` runs when an element is asked for, not before.
Value make_generator(Heap& heap, std::function<bool(Value&)> next);

}  // namespace ffpa_jit::codegen
