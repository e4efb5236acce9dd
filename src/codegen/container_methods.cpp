// Methods of lists, tuples, dicts, ranges and numbers.
#include <algorithm>
#include <cmath>

#include "codegen/failure.h"
#include "codegen/interpreter.h"
#include "codegen/iteration.h"
#include "codegen/methods.h"
#include "codegen/operators.h"
#include "codegen/sorting.h"

namespace ffpa_jit::codegen {
namespace {

using Args = BoundArguments;

std::vector<Value>& items_of(const Value& self) { return self.as<List>().items; }

Value append(Interpreter& in, const Value& self, const Args& args) {
  in.heap().charge_bytes(sizeof(Value));
  items_of(self).push_back(args[0]);
  return Value::none();
}

Value extend(Interpreter& in, const Value& self, const Args& args) {
  std::vector<Value> more = collect(in.heap(), args[0]);
  in.heap().charge_bytes(more.size() * sizeof(Value));
  items_of(self).insert(items_of(self).end(), more.begin(), more.end());
  return Value::none();
}

Value insert(Interpreter& in, const Value& self, const Args& args) {
  auto& items = items_of(self);
  auto size = static_cast<int64_t>(items.size());
  int64_t i = to_integer(args[0], "the index of insert");
  if (i < 0) i = i < -size ? 0 : i + size;
  in.heap().charge_steps(items.size());
  in.heap().charge_bytes(sizeof(Value));
  items.insert(items.begin() + std::min(i, size), args[1]);
  return Value::none();
}

Value pop(Interpreter& in, const Value& self, const Args& args) {
  auto& items = items_of(self);
  if (items.empty()) fail("pop from an empty list");
  auto size = static_cast<int64_t>(items.size());
  int64_t i = args[0].missing() ? -1 : to_integer(args[0], "the index of pop");
  if (i < 0) i += size;
  if (i < 0 || i >= size) fail("the index of pop is out of range");
  in.heap().charge_steps(static_cast<size_t>(size - i));
  Value result = items[static_cast<size_t>(i)];
  items.erase(items.begin() + i);
  return result;
}

size_t position(Interpreter& in, const Value& self, const Value& wanted, size_t begin, size_t end) {
  const auto& items = items_of(self);
  for (size_t i = begin; i < std::min(end, items.size()); ++i) {
    if (equals_as_key(in.heap(), items[i], wanted)) return i;
  }
  return SIZE_MAX;
}

Value remove(Interpreter& in, const Value& self, const Args& args) {
  size_t i = position(in, self, args[0], 0, SIZE_MAX);
  if (i == SIZE_MAX) fail("remove: the list does not have this element");
  in.heap().charge_steps(items_of(self).size());
  items_of(self).erase(items_of(self).begin() + static_cast<std::ptrdiff_t>(i));
  return Value::none();
}

Value index(Interpreter& in, const Value& self, const Args& args) {
  auto size = static_cast<int64_t>(items_of(self).size());
  auto bound = [&](const Value& value, int64_t absent) {
    int64_t i = value.missing() ? absent : to_integer(value, "a bound of index");
    return static_cast<size_t>(i < 0 ? (i < -size ? 0 : i + size) : i);
  };
  size_t i = position(in, self, args[0], bound(args[1], 0), bound(args[2], INT64_MAX));
  if (i == SIZE_MAX) fail("index: there is no such element");
  return Value::integer(static_cast<int64_t>(i));
}

Value count(Interpreter& in, const Value& self, const Args& args) {
  int64_t total = 0;
  for (size_t i = 0; i < items_of(self).size(); ++i)
    total += equals_as_key(in.heap(), items_of(self)[i], args[0]);
  return Value::integer(total);
}

Value clear(Interpreter&, const Value& self, const Args&) {
  items_of(self).clear();
  return Value::none();
}

Value copy(Interpreter& in, const Value& self, const Args&) {
  in.heap().charge_steps(items_of(self).size());
  return in.heap().list(items_of(self));
}

Value reverse(Interpreter& in, const Value& self, const Args&) {
  in.heap().charge_steps(items_of(self).size());
  std::reverse(items_of(self).begin(), items_of(self).end());
  return Value::none();
}

Value sort(Interpreter& in, const Value& self, const CallArguments& arguments) {
  if (!arguments.positional.empty()) fail("sort takes no positional arguments");
  bool descending = false;
  for (const auto& [name, value] : arguments.keyword) {
    if (name->text == "key" && !value.is(Type::kNone))
      fail("the key of sort is outside the supported subset; use |sort(attribute=...)");
    if (name->text == "reverse") descending = truth(value);
    if (name->text != "reverse" && name->text != "key")
      fail("sort takes no keyword argument '{}'", name->text);
  }
  std::vector<Value> items = items_of(self);
  sort_by_keys(in.heap(), items, items, descending);
  items_of(self) = std::move(items);
  return Value::none();
}

// ---- dict
// ----------------------------------------------------------------------------------------

Dict& dict_of(const Value& self) { return self.as<Dict>(); }

Value view(Interpreter& in, const Value& self, DictView::Kind kind) {
  auto* view = in.heap().make<DictView>();
  view->dict = &dict_of(self);
  view->kind = kind;
  return Value::object(Type::kDictView, view);
}
Value keys(Interpreter& in, const Value& s, const Args&) {
  return view(in, s, DictView::Kind::kKeys);
}
Value values(Interpreter& in, const Value& s, const Args&) {
  return view(in, s, DictView::Kind::kValues);
}
Value items(Interpreter& in, const Value& s, const Args&) {
  return view(in, s, DictView::Kind::kItems);
}

Value get(Interpreter& in, const Value& self, const Args& args) {
  Value* value = dict_of(self).find(in.heap(), args[0]);
  if (value) return *value;
  return args[1].missing() ? Value::none() : args[1];
}

Value dict_pop(Interpreter& in, const Value& self, const Args& args) {
  Value* found = dict_of(self).find(in.heap(), args[0]);
  if (!found) {
    if (args[1].missing()) fail("pop: the dict does not have this key");
    return args[1];
  }
  Value value = *found;
  dict_of(self).erase(in.heap(), args[0]);
  return value;
}

Value setdefault(Interpreter& in, const Value& self, const Args& args) {
  if (Value* value = dict_of(self).find(in.heap(), args[0])) return *value;
  Value value = args[1].missing() ? Value::none() : args[1];
  dict_of(self).set(in.heap(), args[0], value);
  return value;
}

Value update(Interpreter& in, const Value& self, const CallArguments& arguments) {
  fill_dict(in.heap(), dict_of(self), arguments);
  return Value::none();
}

Value dict_clear(Interpreter&, const Value& self, const Args&) {
  dict_of(self).clear();
  return Value::none();
}

Value dict_copy(Interpreter& in, const Value& self, const Args&) {
  auto* copy = in.heap().make<Dict>();
  for (size_t i = 0; i < dict_of(self).entries.size(); ++i) {
    in.heap().charge_steps(1);
    copy->set(in.heap(), dict_of(self).entries[i].key, dict_of(self).entries[i].value);
  }
  return Value::object(Type::kDict, copy);
}

// ---- range and numbers
// ---------------------------------------------------------------------------

Value range_index(Interpreter& in, const Value& self, const Args& args) {
  if (!contains(in.heap(), self, args[0]) || !args[0].is_integral())
    fail("index: there is no such element");
  const Range& range = self.as<Range>();
  return Value::integer((args[0].as_int() - range.start) / range.step);
}
Value range_count(Interpreter& in, const Value& self, const Args& args) {
  return Value::integer(contains(in.heap(), self, args[0]) ? 1 : 0);
}

Value is_integer(Interpreter&, const Value& self, const Args&) {
  double d = self.as_float();
  return Value::boolean(std::isfinite(d) && d == std::floor(d));
}

Value bit_length(Interpreter&, const Value& self, const Args&) {
  int64_t i = self.as_int();
  auto magnitude = i < 0 ? ~static_cast<uint64_t>(i) + 1 : static_cast<uint64_t>(i);
  return Value::integer(magnitude == 0 ? 0 : 64 - __builtin_clzll(magnitude));
}

Parameters positional(std::array<std::string_view, Parameters::kMost> names, size_t required) {
  return {names, required, true};
}

const Method kOfLists[] = {
    {"append", positional({"object"}, 1), append},
    {"extend", positional({"iterable"}, 1), extend},
    {"insert", positional({"index", "object"}, 2), insert},
    {"pop", positional({"index"}, 0), pop},
    {"remove", positional({"value"}, 1), remove},
    {"index", positional({"value", "start", "stop"}, 1), index},
    {"count", positional({"value"}, 1), count},
    {"clear", {}, clear},
    {"copy", {}, copy},
    {"reverse", {}, reverse},
    {"sort", {}, nullptr, sort},
};

const Method kOfTuples[] = {
    {"index", positional({"value", "start", "stop"}, 1), index},
    {"count", positional({"value"}, 1), count},
};

const Method kOfDicts[] = {
    {"keys", {}, keys},
    {"values", {}, values},
    {"items", {}, items},
    {"get", positional({"key", "default"}, 1), get},
    {"pop", positional({"key", "default"}, 1), dict_pop},
    {"setdefault", positional({"key", "default"}, 1), setdefault},
    {"update", {}, nullptr, update},
    {"clear", {}, dict_clear},
    {"copy", {}, dict_copy},
};

const Method kOfRanges[] = {
    {"index", positional({"value"}, 1), range_index},
    {"count", positional({"value"}, 1), range_count},
};

const Method kOfFloats[] = {{"is_integer", {}, is_integer}};
const Method kOfInts[] = {{"bit_length", {}, bit_length}};

}  // namespace

const std::span<const Method> kListMethods(kOfLists);
const std::span<const Method> kTupleMethods(kOfTuples);
const std::span<const Method> kDictMethods(kOfDicts);
const std::span<const Method> kRangeMethods(kOfRanges);
const std::span<const Method> kFloatMethods(kOfFloats);
const std::span<const Method> kIntMethods(kOfInts);

}  // namespace ffpa_jit::codegen
