// Heap: owns every object of one render (or the constants of one parsed template) and counts what
// it uses.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "codegen/limits.h"
#include "codegen/value.h"

namespace ffpa_jit::codegen {

class Heap {
 public:
  explicit Heap(const Limits& limits) : limits_(limits) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  const Limits& limits() const { return limits_; }

  // Both throw Failure when the render has used up its share. Call before doing the work or
  // allocating.
  void charge_steps(size_t count);
  void charge_bytes(size_t bytes);

  template <typename T, typename... Args>
  T* make(Args&&... args) {
    charge_bytes(sizeof(T) + sizeof(void*));
    auto object = std::make_unique<T>(std::forward<Args>(args)...);
    T* raw = object.get();
    objects_.push_back(std::move(object));
    return raw;
  }

  const String* string(std::string text, bool markup = false);
  Value list(std::vector<Value> items);
  Value tuple(std::vector<Value> items);
  Value undefined(std::string message, bool strict = true);
  Value callable(std::string name, Callable::Function function);

 private:
  Limits limits_;
  size_t steps_ = 0;
  size_t bytes_ = 0;
  std::vector<std::unique_ptr<Object>> objects_;
};

}  // namespace ffpa_jit::codegen
