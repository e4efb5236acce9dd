#include "codegen/interpreter_objects.h"

#include "codegen/failure.h"
#include "codegen/operators.h"
#include "codegen/text_form.h"

namespace ffpa_jit::codegen {

const Value* Names::find(std::string_view name) const {
  for (const Names* names = this; names; names = names->outer.get()) {
    auto found = names->values.find(name);
    if (found != names->values.end()) return &found->second;
  }
  return nullptr;
}

const Value& Loop::peek() {
  if (after.missing()) {
    Value next;
    if (iterator->next(next)) after = next;
  }
  return after;
}

bool Loop::advance(Heap&) {
  Value next;
  if (!after.missing()) {
    next = after;
    after = Value();
  } else if (!iterator->next(next)) {
    return false;
  }
  ++index0;
  before = current;
  current = next;
  return true;
}

namespace {

struct RemainingIterator : Iterator {
  explicit RemainingIterator(std::vector<Value> v) : items(std::move(v)) {}
  bool next(Value& out) override {
    if (index >= items.size()) return false;
    out = items[index++];
    return true;
  }
  std::vector<Value> items;
  size_t index = 0;
};

// Iterating over `loop` itself yields (item, loop) pairs.
struct LoopPairs : Iterator {
  LoopPairs(Heap& h, Loop& l) : heap(h), loop(l) {}
  bool next(Value& out) override {
    if (!loop.advance(heap)) return false;
    heap.charge_steps(1);
    out = heap.tuple({loop.current, Value::object(Type::kLoop, &loop)});
    return true;
  }
  Heap& heap;
  Loop& loop;
};

int64_t length_with_heap(Heap* heap, Loop& loop) {
  if (loop.length >= 0) return loop.length;
  if (has_length(loop.iterable)) return loop.length = length_of(loop.iterable);
  if (!heap) fail("the length of this loop is not known yet");
  // A generator: read the rest of it now.
  std::vector<Value> rest;
  Value next;
  while (loop.iterator->next(next)) rest.push_back(next);
  loop.length =
      static_cast<int64_t>(rest.size()) + loop.index0 + 1 + (loop.after.missing() ? 0 : 1);
  loop.iterator = heap->make<RemainingIterator>(std::move(rest));
  return loop.length;
}

}  // namespace

int64_t loop_length(Loop& loop) { return length_with_heap(nullptr, loop); }

Iterator* loop_iterator(Heap& heap, Loop& loop) { return heap.make<LoopPairs>(heap, loop); }

std::string loop_repr(Loop& loop) {
  return fmt::format("<LoopContext {}/{}>", loop.index0 + 1, loop_length(loop));
}

Value loop_attribute(Heap& heap, Loop& loop, std::string_view name) {
  auto integer = [](int64_t i) { return Value::integer(i); };
  if (name == "index") return integer(loop.index0 + 1);
  if (name == "index0") return integer(loop.index0);
  if (name == "first") return Value::boolean(loop.index0 == 0);
  if (name == "last") return Value::boolean(loop.peek().missing());
  if (name == "length") return integer(length_with_heap(&heap, loop));
  if (name == "revindex") return integer(length_with_heap(&heap, loop) - loop.index0);
  if (name == "revindex0") return integer(length_with_heap(&heap, loop) - loop.index0 - 1);
  if (name == "depth") return integer(loop.depth0 + 1);
  if (name == "depth0") return integer(loop.depth0);
  if (name == "previtem") {
    return loop.index0 == 0 ? heap.undefined("there is no previous item") : loop.before;
  }
  if (name == "nextitem") {
    return loop.peek().missing() ? heap.undefined("there is no next item") : loop.after;
  }
  return {};
}

Value macro_attribute(Heap& heap, const Macro& macro, std::string_view name) {
  const MacroDefinition& definition = *macro.definition;
  if (name == "name") return definition.name ? Value(definition.name) : Value::none();
  if (name == "arguments") {
    std::vector<Value> names;
    for (const auto& parameter : definition.parameters) names.push_back(Value(parameter->name));
    return heap.tuple(std::move(names));
  }
  if (name == "catch_kwargs") return Value::boolean(definition.uses_kwargs);
  if (name == "catch_varargs") return Value::boolean(definition.uses_varargs);
  if (name == "caller") return Value::boolean(definition.uses_caller);
  if (name == "explicit_caller") {
    for (const auto& parameter : definition.parameters) {
      if (parameter->name->text == "caller") return Value::boolean(true);
    }
    return Value::boolean(false);
  }
  return {};
}

std::string macro_repr(const Macro& macro) {
  const String* name = macro.definition->name;
  return name ? "<Macro " + quoted(name->text) + ">" : "<Macro anonymous>";
}

Value module_attribute(Heap&, const Module& module, std::string_view name) {
  auto found = module.exported.find(name);
  return found == module.exported.end() ? Value() : found->second;
}

const std::string& module_name(const Module& module) { return module.source->source.name(); }

const std::string& module_text(const Module& module) { return module.body->text; }

}  // namespace ffpa_jit::codegen
