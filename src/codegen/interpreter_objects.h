// Objects that the interpreter makes: activations, macros, loops and imported templates. The rest
// of the engine asks them through the functions below.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/ast.h"
#include "codegen/output.h"
#include "codegen/value.h"

namespace ffpa_jit::codegen {

// The names a template can look up: what it exports (`vars`) over what it was given. Given names
// never change, so they are shared; taking a snapshot copies only `vars`.
struct Names {
  std::map<std::string, Value, std::less<>> values;
  std::shared_ptr<const Names> outer;
  const Value* find(std::string_view name) const;
};

struct Context : Object {
  const Template* source = nullptr;
  std::shared_ptr<const Names> given;
  std::map<std::string, Value, std::less<>> vars;
  std::set<std::string, std::less<>> exported;
};

// The variables of one running template, macro, recursive loop or loop filter.
struct Activation : Object {
  Activation(Activation* p, Context* c, uint32_t slot_count)
      : parent(p), context(c), slots(slot_count) {}
  Activation* parent;  // of the enclosing function, for its variables
  Context* context;
  std::vector<Value> slots;
};

struct Macro : Object {
  const MacroDefinition* definition = nullptr;
  Activation* closure = nullptr;
};

// `loop` inside a for loop.
struct Loop : Object {
  Value iterable;
  Iterator* iterator = nullptr;
  int64_t index0 = -1;
  int64_t length = -1;  // -1: not asked for yet
  int64_t depth0 = 0;
  Value before, current, after;  // missing where there is none
  Value last_changed;            // the tuple of the last loop.changed(...)
  const ForStmt* recursive = nullptr;
  Activation* closure = nullptr;  // where the recursive loop stands
  // Moves to the next element.
  bool advance(Heap& heap);
  const Value& peek();
};

struct Module : Object {
  const Template* source = nullptr;
  std::map<std::string, Value, std::less<>> exported;
  const String* body = nullptr;  // what the template printed
};

// missing when there is no such attribute.
Value loop_attribute(Heap& heap, Loop& loop, std::string_view name);
int64_t loop_length(Loop& loop);
Iterator* loop_iterator(Heap& heap, Loop& loop);
std::string loop_repr(Loop& loop);
Value macro_attribute(Heap& heap, const Macro& macro, std::string_view name);
std::string macro_repr(const Macro& macro);
Value module_attribute(Heap& heap, const Module& module, std::string_view name);
const std::string& module_name(const Module& module);
const std::string& module_text(const Module& module);

}  // namespace ffpa_jit::codegen
