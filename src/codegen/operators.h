// Python's operators on Values. All throw Failure where Python raises.
#pragma once

#include <cstddef>

#include "codegen/ast.h"
#include "codegen/heap.h"
#include "codegen/value.h"

namespace ffpa_jit::codegen {

bool truth(const Value& value);

// ==; exact between int and float.
bool equals(Heap& heap, const Value& a, const Value& b, size_t depth = 0);
// Identical or equal: how Python compares the elements of a container.
bool equals_as_key(Heap& heap, const Value& a, const Value& b);
// Equal values hash alike; throws for values that Python cannot hash.
size_t hash_of(Heap& heap, const Value& value, size_t depth = 0);
// a < b, for sorting.
bool less(Heap& heap, const Value& a, const Value& b, size_t depth = 0);
bool compare(Heap& heap, CompareOp op, const Value& a, const Value& b);
// item in container
bool contains(Heap& heap, const Value& container, const Value& item);

Value binary(Heap& heap, BinaryOp op, const Value& a, const Value& b);
Value unary(Heap& heap, UnaryOp op, const Value& operand);

// x[index] and x[start:stop:step] of sequences; absent bounds are none. Throws Failure when out of
// range.
Value slice(Heap& heap, const Value& sequence, const Value& start, const Value& stop,
            const Value& step);
// The bounds that Python computes for a slice of `length` elements.
struct SliceBounds {
  int64_t start, stop, step;
  int64_t size() const;
};
SliceBounds slice_bounds(int64_t length, const Value& start, const Value& stop, const Value& step);

// len(x)
int64_t length_of(const Value& value);
bool has_length(const Value& value);

double to_double(const Value& number);
// An argument that must be an integer; `what` names it in the message.
int64_t to_integer(const Value& value, std::string_view what);
// Throws the message of an undefined value.
[[noreturn]] void fail_undefined(const Value& value);

}  // namespace ffpa_jit::codegen
