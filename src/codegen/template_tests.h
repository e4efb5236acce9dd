// Tests: {% if value is name(arguments) %}.
#pragma once

#include <string>
#include <string_view>

#include "codegen/arguments.h"
#include "codegen/value.h"

namespace ffpa_jit::codegen {

struct TestEntry {
  std::string_view name;
  Parameters parameters;
  bool (*function)(Interpreter& interpreter, const Value& input, const BoundArguments& arguments);
};

const TestEntry* find_test(std::string_view name);
std::string unknown_test(std::string_view name);
bool apply_test(Interpreter& interpreter, const TestEntry& test, const Value& input,
                const CallArguments& arguments);

}  // namespace ffpa_jit::codegen
