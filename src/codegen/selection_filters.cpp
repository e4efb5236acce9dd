// default, attr, map, select and reject: filters that pass values on, or apply other filters and
// tests to elements.
#include "codegen/attributes.h"
#include "codegen/failure.h"
#include "codegen/filters.h"
#include "codegen/interpreter.h"
#include "codegen/iteration.h"
#include "codegen/operators.h"
#include "codegen/template_tests.h"
#include "codegen/text_form.h"

namespace ffpa_jit::codegen {
namespace {

using Args = BoundArguments;

Value default_value(Interpreter& in, const Value& input, const Args& args) {
  bool also_false = !args[1].missing() && truth(args[1]);
  if (!input.undefined() && !(also_false && !truth(input))) return input;
  return args[0].missing() ? Value(in.heap().string("")) : args[0];
}

Value attr(Interpreter& in, const Value& input, const Args& args) {
  if (!args[0].is_string()) fail("attr needs the name of an attribute");
  return get_attribute_only(in.heap(), input, args[0].as_string());
}

CallArguments without_first(const CallArguments& arguments, size_t count) {
  CallArguments rest;
  rest.positional.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(count),
                         arguments.positional.end());
  rest.keyword = arguments.keyword;
  return rest;
}

std::string callable_name(Interpreter& in, const Value& value, std::string_view what) {
  if (value.undefined()) fail_undefined(value);
  if (!value.is_string())
    fail("{} needs the name of a {}, not {}", what, what == "map" ? "filter" : "test",
         repr_of(in.heap(), value));
  return value.text();
}

using Transform = std::function<Value(const Value&)>;

Transform map_function(Interpreter& in, const CallArguments& arguments) {
  const Value *attribute = nullptr, *fallback = nullptr;
  for (const auto& [name, value] : arguments.keyword) {
    if (name->text == "attribute") attribute = &value;
    if (name->text == "default") fallback = &value;
  }
  if (arguments.positional.empty() && attribute) {
    for (const auto& [name, value] : arguments.keyword) {
      if (name->text != "attribute" && name->text != "default")
        fail("map takes no keyword argument '{}'", name->text);
    }
    AttributePath path(in.heap(), *attribute, fallback ? *fallback : Value());
    return [&in, path](const Value& item) { return path.get(in.heap(), item); };
  }
  if (arguments.positional.empty()) fail("map needs the name of a filter, or attribute=...");
  std::string name = callable_name(in, arguments.positional[0], "map");
  const FilterEntry* filter = find_filter(name);
  if (!filter) throw Failure(unknown_filter(name));
  return [&in, filter, rest = without_first(arguments, 1)](const Value& item) {
    return apply_filter(in, *filter, item, rest);
  };
}

Value map(Interpreter& in, const Value& input, const CallArguments& arguments) {
  Iterator* elements = nullptr;
  return make_generator(
      in.heap(), [&in, input, arguments, elements, transform = Transform()](Value& out) mutable {
        if (!elements) {
          if (!truth(input)) return false;
          transform = map_function(in, arguments);
          elements = iterate(in.heap(), input);
        }
        Value item;
        if (!elements->next(item)) return false;
        out = transform(item);
        return true;
      });
}

using Predicate = std::function<bool(const Value&)>;

Predicate selection(Interpreter& in, const CallArguments& arguments, bool by_attribute) {
  Transform subject = [](const Value& item) { return item; };
  size_t used = 0;
  if (by_attribute) {
    if (arguments.positional.empty()) fail("the name of an attribute is missing");
    subject = [&in, path = AttributePath(in.heap(), arguments.positional[0])](const Value& item) {
      return path.get(in.heap(), item);
    };
    used = 1;
  }
  if (arguments.positional.size() == used) {
    return [subject](const Value& item) { return truth(subject(item)); };
  }
  std::string name = callable_name(in, arguments.positional[used], "select");
  const TestEntry* test = find_test(name);
  if (!test) throw Failure(unknown_test(name));
  return [&in, subject, test, rest = without_first(arguments, used + 1)](const Value& item) {
    return apply_test(in, *test, subject(item), rest);
  };
}

Value filtered(Interpreter& in, const Value& input, const CallArguments& arguments, bool keep,
               bool by_attribute) {
  Iterator* elements = nullptr;
  return make_generator(in.heap(), [&in, input, arguments, keep, by_attribute, elements,
                                    predicate = Predicate()](Value& out) mutable {
    if (!elements) {
      if (!truth(input)) return false;
      predicate = selection(in, arguments, by_attribute);
      elements = iterate(in.heap(), input);
    }
    while (elements->next(out)) {
      if (predicate(out) == keep) return true;
    }
    return false;
  });
}
Value select(Interpreter& in, const Value& i, const CallArguments& a) {
  return filtered(in, i, a, true, false);
}
Value reject(Interpreter& in, const Value& i, const CallArguments& a) {
  return filtered(in, i, a, false, false);
}
Value selectattr(Interpreter& in, const Value& i, const CallArguments& a) {
  return filtered(in, i, a, true, true);
}
Value rejectattr(Interpreter& in, const Value& i, const CallArguments& a) {
  return filtered(in, i, a, false, true);
}

const FilterEntry kFilters[] = {
    {"default", {{"default_value", "boolean"}, 0}, default_value},
    {"d", {{"default_value", "boolean"}, 0}, default_value},
    {"attr", {{"name"}, 1}, attr},
    {"map", {}, nullptr, map},
    {"select", {}, nullptr, select},
    {"reject", {}, nullptr, reject},
    {"selectattr", {}, nullptr, selectattr},
    {"rejectattr", {}, nullptr, rejectattr},
};

}  // namespace

const std::span<const FilterEntry> kSelectionFilters(kFilters);

}  // namespace ffpa_jit::codegen
