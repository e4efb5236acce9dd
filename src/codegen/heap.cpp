#include "codegen/heap.h"

#include "codegen/failure.h"

namespace ffpa_jit::codegen {

void Heap::charge_steps(size_t count) {
  if (count > limits_.steps - steps_) {
    fail("more than {} steps (loop iterations, copied elements) were needed", limits_.steps);
  }
  steps_ += count;
}

void Heap::charge_bytes(size_t bytes) {
  if (bytes > limits_.memory_bytes - bytes_) {
    fail("more than {} bytes of memory were needed", limits_.memory_bytes);
  }
  bytes_ += bytes;
}

const String* Heap::string(std::string text, bool markup) {
  charge_bytes(text.size());
  return make<String>(std::move(text), markup);
}

Value Heap::list(std::vector<Value> items) {
  charge_bytes(items.size() * sizeof(Value));
  List* list = make<List>();
  list->items = std::move(items);
  return Value::object(Type::kList, list);
}

Value Heap::tuple(std::vector<Value> items) {
  charge_bytes(items.size() * sizeof(Value));
  List* list = make<List>();
  list->items = std::move(items);
  return Value::object(Type::kTuple, list);
}

Value Heap::undefined(std::string message, bool strict) {
  Undefined* undefined = make<Undefined>();
  undefined->message = std::move(message);
  undefined->strict = strict;
  return Value::object(Type::kUndefined, undefined);
}

Value Heap::callable(std::string name, Callable::Function function) {
  Callable* callable = make<Callable>();
  callable->name = std::move(name);
  callable->function = std::move(function);
  return Value::object(Type::kCallable, callable);
}

}  // namespace ffpa_jit::codegen
