#include "codegen/attributes.h"

#include <charconv>

#include "codegen/failure.h"
#include "codegen/interpreter_objects.h"
#include "codegen/methods.h"
#include "codegen/operators.h"
#include "codegen/text_form.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {
namespace {

// The attributes that are not methods. Missing: there is none of this name.
Value data_attribute(Heap& heap, const Value& object, std::string_view name) {
  switch (object.type()) {
    case Type::kNamespace: {
      Value* value =
          object.as<Namespace>().attributes->find(heap, Value(heap.string(std::string(name))));
      return value ? *value : Value();
    }
    case Type::kTuple: {
      const List& tuple = object.as<List>();
      if (!tuple.group) return {};
      if (name == "grouper") return tuple.items[0];
      return name == "list" ? tuple.items[1] : Value();
    }
    case Type::kRange: {
      const Range& range = object.as<Range>();
      if (name == "start") return Value::integer(range.start);
      if (name == "stop") return Value::integer(range.stop);
      return name == "step" ? Value::integer(range.step) : Value();
    }
    case Type::kCycler: {
      const Cycler& cycler = object.as<Cycler>();
      if (name == "current") return cycler.items[cycler.position];
      return name == "pos" ? Value::integer(static_cast<int64_t>(cycler.position)) : Value();
    }
    case Type::kBool:
    case Type::kInt:
      if (name == "real" || name == "numerator") return Value::integer(object.as_int());
      if (name == "imag") return Value::integer(0);
      return name == "denominator" ? Value::integer(1) : Value();
    case Type::kFloat:
      if (name == "real") return object;
      return name == "imag" ? Value::floating(0) : Value();
    case Type::kJoiner:
      if (name == "sep") return object.as<Joiner>().separator;
      return name == "used" ? Value::boolean(object.as<Joiner>().used) : Value();
    case Type::kLoop:
      return loop_attribute(heap, object.as<Loop>(), name);
    case Type::kMacro:
      return macro_attribute(heap, object.as<Macro>(), name);
    case Type::kModule:
      return module_attribute(heap, object.as<Module>(), name);
    default:
      return {};
  }
}

// getattr(object, name): missing where Python raises AttributeError.
Value attribute(Heap& heap, const Value& object, const std::string& name) {
  if (object.undefined()) fail_undefined(object);
  if (name.starts_with("__")) {
    fail("attributes that begin with two underlines ('{}') are outside the supported subset", name);
  }
  Value value = data_attribute(heap, object, name);
  return value.missing() ? find_method(heap, object, name) : value;
}

// object[index]: missing where Python raises LookupError or TypeError.
Value item(Heap& heap, const Value& object, const Value& index) {
  switch (object.type()) {
    case Type::kUndefined:
      fail_undefined(object);
    case Type::kDict: {
      if (index.is(Type::kList) || index.is(Type::kDict) || index.is(Type::kDictView)) return {};
      Value* value = object.as<Dict>().find(heap, index);
      return value ? *value : Value();
    }
    case Type::kList:
    case Type::kTuple: {
      if (!index.is_integral()) return {};
      const auto& items = object.as<List>().items;
      auto size = static_cast<int64_t>(items.size());
      int64_t i = index.as_int() < 0 ? index.as_int() + size : index.as_int();
      return i >= 0 && i < size ? items[static_cast<size_t>(i)] : Value();
    }
    case Type::kRange: {
      if (!index.is_integral()) return {};
      const Range& range = object.as<Range>();
      int64_t size = range.size();
      int64_t i = index.as_int() < 0 ? index.as_int() + size : index.as_int();
      return i >= 0 && i < size ? Value::integer(range.at(i)) : Value();
    }
    case Type::kString: {
      if (!index.is_integral()) return {};
      const String& string = object.as_string();
      auto size = static_cast<int64_t>(string.length);
      int64_t i = index.as_int() < 0 ? index.as_int() + size : index.as_int();
      if (i < 0 || i >= size) return {};
      size_t offset = static_cast<size_t>(i);
      if (string.ascii()) return heap.string(string.text.substr(offset, 1), string.markup);
      heap.charge_steps(offset / 64);
      offset = 0;
      for (int64_t k = 0; k < i; ++k) next_code_point(string.text, offset);
      size_t begin = offset;
      next_code_point(string.text, offset);
      return heap.string(string.text.substr(begin, offset - begin), string.markup);
    }
    default:
      return {};
  }
}

Value undefined_member(Heap& heap, const Value& object, const Value& name) {
  if (name.is_string()) {
    return heap.undefined(
        fmt::format("'{}' has no attribute '{}'", type_name(object), name.text()));
  }
  return heap.undefined(
      fmt::format("{} has no element {}", type_name(object), repr_of(heap, name)));
}

}  // namespace

Value get_attribute(Heap& heap, const Value& object, const String& name) {
  Value value = attribute(heap, object, name.text);
  if (value.missing() && object.is(Type::kDict)) value = item(heap, object, Value(&name));
  return value.missing() ? undefined_member(heap, object, Value(&name)) : value;
}

Value get_attribute_only(Heap& heap, const Value& object, const String& name) {
  Value value = attribute(heap, object, name.text);
  return value.missing() ? undefined_member(heap, object, Value(&name)) : value;
}

Value get_item(Heap& heap, const Value& object, const Value& index) {
  Value value = item(heap, object, index);
  if (value.missing() && index.is_string()) value = attribute(heap, object, index.text());
  return value.missing() ? undefined_member(heap, object, index) : value;
}

AttributePath::AttributePath(Heap& heap, const Value& attribute, Value fallback)
    : fallback_(fallback) {
  if (attribute.missing() || attribute.is(Type::kNone)) return;
  if (!attribute.is_string()) {
    parts_.push_back(attribute);
    return;
  }
  const std::string& text = attribute.text();
  for (size_t begin = 0;;) {
    size_t dot = text.find('.', begin);
    std::string part = text.substr(begin, dot == std::string::npos ? dot : dot - begin);
    int64_t number = 0;
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    bool digits = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    if (digits && error != std::errc()) fail("the index {} is too large", part);
    parts_.push_back(digits ? Value::integer(number) : Value(heap.string(part)));
    if (dot == std::string::npos) return;
    begin = dot + 1;
  }
}

Value AttributePath::get(Heap& heap, Value object) const {
  for (const Value& part : parts_) {
    object = get_item(heap, object, part);
    if (object.undefined() && !fallback_.missing() && !fallback_.is(Type::kNone))
      object = fallback_;
  }
  return object;
}

}  // namespace ffpa_jit::codegen
