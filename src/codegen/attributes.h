// x.name and x[index], by Jinja's rules: the attribute first for `.`, the item first for `[]`; what
// neither has is undefined (an error once it is used).
#pragma once

#include "codegen/heap.h"
#include "codegen/value.h"

namespace ffpa_jit::codegen {

Value get_attribute(Heap& heap, const Value& object, const String& name);
// The attribute only, never the item: what the `attr` filter looks up.
Value get_attribute_only(Heap& heap, const Value& object, const String& name);
Value get_item(Heap& heap, const Value& object, const Value& index);

// x.a.0.b as the `attribute` argument of filters spells it; a missing `fallback` means none.
class AttributePath {
 public:
  // `attribute` is text, an integer, or none (the value itself).
  AttributePath(Heap& heap, const Value& attribute, Value fallback = {});
  Value get(Heap& heap, Value object) const;

 private:
  std::vector<Value> parts_;
  Value fallback_;
};

}  // namespace ffpa_jit::codegen
