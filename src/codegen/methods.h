// Methods of text, lists, dicts and the other built-in objects: x.upper(), xs.append(1), d.items().
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codegen/arguments.h"
#include "codegen/heap.h"
#include "codegen/value.h"

namespace ffpa_jit::codegen {

struct Method {
  std::string_view name;
  Parameters parameters;
  Value (*function)(Interpreter& interpreter, const Value& self, const BoundArguments& arguments);
  // Set instead of `function` where any arguments are taken.
  Value (*variadic)(Interpreter& interpreter, const Value& self,
                    const CallArguments& arguments) = nullptr;
};

// The method bound to its object; missing when objects of this type have none of that name. Throws
// Failure for a method that Python has and this subset lacks.
Value find_method(Heap& heap, const Value& object, const std::string& name);

extern const std::span<const Method> kTextMethods;  // text_methods.cpp, text_predicates.cpp
extern const std::span<const Method> kTextPredicates;
extern const std::span<const Method> kListMethods;  // container_methods.cpp
extern const std::span<const Method> kTupleMethods;
extern const std::span<const Method> kDictMethods;
extern const std::span<const Method> kRangeMethods;
extern const std::span<const Method> kFloatMethods;
extern const std::span<const Method> kIntMethods;
extern const std::span<const Method> kLoopMethods;  // object_methods.cpp
extern const std::span<const Method> kCyclerMethods;

}  // namespace ffpa_jit::codegen
