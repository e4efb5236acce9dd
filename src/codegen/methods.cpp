#include "codegen/methods.h"

#include <algorithm>
#include <vector>

#include "codegen/failure.h"

namespace ffpa_jit::codegen {
namespace {

std::vector<std::span<const Method>> tables_of(Type type) {
  switch (type) {
    case Type::kString:
      return {kTextMethods, kTextPredicates};
    case Type::kList:
      return {kListMethods};
    case Type::kTuple:
      return {kTupleMethods};
    case Type::kDict:
      return {kDictMethods};
    case Type::kRange:
      return {kRangeMethods};
    case Type::kFloat:
      return {kFloatMethods};
    case Type::kBool:
    case Type::kInt:
      return {kIntMethods};
    case Type::kLoop:
      return {kLoopMethods};
    case Type::kCycler:
      return {kCyclerMethods};
    default:
      return {};
  }
}

// Methods that Python has and this subset leaves out.
std::string_view unsupported_methods(Type type) {
  switch (type) {
    case Type::kString:
      return " casefold encode format_map maketrans translate ";
    case Type::kDict:
      return " fromkeys popitem ";
    case Type::kFloat:
      return " as_integer_ratio conjugate fromhex hex ";
    case Type::kBool:
    case Type::kInt:
      return " as_integer_ratio bit_count conjugate from_bytes to_bytes ";
    case Type::kDictView:
      return " isdisjoint mapping ";
    case Type::kIterator:
      return " close send throw gi_code gi_frame gi_running gi_yieldfrom ";
    case Type::kLoop:
      return " _iterable _iterator ";
    default:
      return "";
  }
}

}  // namespace

Value find_method(Heap& heap, const Value& object, const std::string& name) {
  for (std::span<const Method> table : tables_of(object.type())) {
    for (const Method& method : table) {
      if (method.name != name) continue;
      return heap.callable(
          name, [&method, object](Interpreter& interpreter, const CallArguments& arguments) {
            if (method.variadic) return method.variadic(interpreter, object, arguments);
            return method.function(interpreter, object,
                                   bind(method.name, method.parameters, arguments));
          });
    }
  }
  if (unsupported_methods(object.type()).find(" " + name + " ") != std::string_view::npos) {
    fail("the method '{}' of {} is outside the supported subset", name, type_name(object));
  }
  return {};
}

}  // namespace ffpa_jit::codegen
