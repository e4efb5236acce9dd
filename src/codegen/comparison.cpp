// Truth, ==, <, in and hashing.
#include <cmath>
#include <functional>

#include "codegen/failure.h"
#include "codegen/iteration.h"
#include "codegen/operators.h"

namespace ffpa_jit::codegen {
namespace {

void check_depth(const Heap& heap, size_t depth) {
  if (depth > heap.limits().value_depth) {
    fail("values nested deeper than {} levels cannot be compared", heap.limits().value_depth);
  }
}

enum class Order { kLess, kEqual, kGreater, kUnordered };

template <typename T>
Order order(T a, T b) {
  return a < b    ? Order::kLess
         : a > b  ? Order::kGreater
         : a == b ? Order::kEqual
                  : Order::kUnordered;
}

// Exact: long double holds every int64 and every double.
Order order_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return order(a.as_int(), b.as_int());
  auto wide = [](const Value& v) {
    return v.is(Type::kFloat) ? static_cast<long double>(v.as_float())
                              : static_cast<long double>(v.as_int());
  };
  return order(wide(a), wide(b));
}

bool equal_items(Heap& heap, const List& a, const List& b, size_t depth) {
  if (&a == &b) return true;
  if (a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size() && i < b.items.size(); ++i) {
    if (a.items[i].type() == b.items[i].type() && a.items[i].identity() == b.items[i].identity() &&
        !a.items[i].is(Type::kFloat)) {
      continue;
    }
    if (!equals(heap, a.items[i], b.items[i], depth + 1)) return false;
  }
  return true;
}

bool equal_dicts(Heap& heap, Dict& a, Dict& b, size_t depth) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const Dict::Entry& entry : a.entries) {
    const Value* other = b.find(heap, entry.key);
    if (!other || !equals(heap, entry.value, *other, depth + 1)) return false;
  }
  return true;
}

bool equal_ranges(const Range& a, const Range& b) {
  int64_t size = a.size();
  return size == b.size() && (size == 0 || (a.start == b.start && (size == 1 || a.step == b.step)));
}

// Three-way order of what Python's < accepts; throws otherwise.
Order order_values(Heap& heap, const Value& a, const Value& b, size_t depth, std::string_view op) {
  check_depth(heap, depth);
  heap.charge_steps(1);
  if (a.is_number() && b.is_number()) return order_numbers(a, b);
  if (a.is_string() && b.is_string()) {
    // UTF-8 keeps the order of code points.
    return order(a.text().compare(b.text()), 0);
  }
  bool lists = a.is(Type::kList) && b.is(Type::kList);
  if (lists || (a.is(Type::kTuple) && b.is(Type::kTuple))) {
    const auto& left = a.as<List>().items;
    const auto& right = b.as<List>().items;
    for (size_t i = 0; i < left.size() && i < right.size(); ++i) {
      if (!equals(heap, left[i], right[i], depth + 1)) {
        return order_values(heap, left[i], right[i], depth + 1, op);
      }
    }
    return order(left.size(), right.size());
  }
  if (a.undefined()) fail_undefined(a);
  if (b.undefined()) fail_undefined(b);
  fail("'{}' is not supported between {} and {}", op, type_name(a), type_name(b));
}

size_t hash_number(const Value& value) {
  if (value.is_integral()) return std::hash<int64_t>()(value.as_int());
  double d = value.as_float();
  constexpr double kInt64End = 9223372036854775808.0;
  if (d == std::floor(d) && d >= -kInt64End && d < kInt64End) {
    return std::hash<int64_t>()(static_cast<int64_t>(d));
  }
  return std::hash<double>()(d);
}

}  // namespace

bool truth(const Value& value) {
  switch (value.type()) {
    case Type::kUndefined:
      if (value.as<Undefined>().strict) fail_undefined(value);
      return false;
    case Type::kMissing:
    case Type::kNone:
      return false;
    case Type::kBool:
      return value.as_bool();
    case Type::kInt:
      return value.as_int() != 0;
    case Type::kFloat:
      return value.as_float() != 0;
    default:
      return has_length(value) ? length_of(value) != 0 : true;
  }
}

bool equals(Heap& heap, const Value& a, const Value& b, size_t depth) {
  check_depth(heap, depth);
  heap.charge_steps(1);
  if (a.undefined() || b.undefined()) {
    if (a.undefined() && a.as<Undefined>().strict) fail_undefined(a);
    if (b.undefined() && b.as<Undefined>().strict) fail_undefined(b);
    return a.undefined() && b.undefined();
  }
  if (a.is_number() && b.is_number()) return order_numbers(a, b) == Order::kEqual;
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case Type::kNone:
      return true;
    case Type::kString:
      return a.text() == b.text();
    case Type::kList:
    case Type::kTuple:
      return equal_items(heap, a.as<List>(), b.as<List>(), depth);
    case Type::kDict:
      return equal_dicts(heap, a.as<Dict>(), b.as<Dict>(), depth);
    case Type::kRange:
      return equal_ranges(a.as<Range>(), b.as<Range>());
    case Type::kDictView:
      if (a.identity() != b.identity())
        fail("comparing the views of dicts is outside the supported subset; use |list");
      return true;
    default:
      return a.identity() == b.identity();
  }
}

bool equals_as_key(Heap& heap, const Value& a, const Value& b) {
  if (a.type() == b.type() && a.type() > Type::kFloat && a.identity() == b.identity()) return true;
  if (a.undefined() && b.undefined() && a.identity() == b.identity()) return true;
  return equals(heap, a, b);
}

size_t hash_of(Heap& heap, const Value& value, size_t depth) {
  check_depth(heap, depth);
  switch (value.type()) {
    case Type::kNone:
      return 0x9e3779b97f4a7c15u;
    case Type::kBool:
    case Type::kInt:
    case Type::kFloat:
      return hash_number(value);
    case Type::kString:
      return std::hash<std::string>()(value.text());
    case Type::kTuple: {
      size_t hash = 0x345678;
      for (const Value& item : value.as<List>().items) {
        heap.charge_steps(1);
        hash = hash * 1000003 ^ hash_of(heap, item, depth + 1);
      }
      return hash;
    }
    case Type::kRange:
      return static_cast<size_t>(value.as<Range>().size());
    case Type::kUndefined:
      if (value.as<Undefined>().strict) fail_undefined(value);
      return 1;
    case Type::kList:
    case Type::kDict:
    case Type::kDictView:
      fail("unhashable type: {}", type_name(value));
    default:
      return std::hash<const void*>()(value.identity());
  }
}

bool less(Heap& heap, const Value& a, const Value& b, size_t depth) {
  return order_values(heap, a, b, depth, "<") == Order::kLess;
}

bool compare(Heap& heap, CompareOp op, const Value& a, const Value& b) {
  switch (op) {
    case CompareOp::kEq:
      return equals(heap, a, b);
    case CompareOp::kNe:
      return !equals(heap, a, b);
    case CompareOp::kLt:
      return order_values(heap, a, b, 0, "<") == Order::kLess;
    case CompareOp::kGt:
      return order_values(heap, a, b, 0, ">") == Order::kGreater;
    case CompareOp::kLe: {
      Order o = order_values(heap, a, b, 0, "<=");
      return o == Order::kLess || o == Order::kEqual;
    }
    case CompareOp::kGe: {
      Order o = order_values(heap, a, b, 0, ">=");
      return o == Order::kGreater || o == Order::kEqual;
    }
    case CompareOp::kIn:
      return contains(heap, b, a);
    case CompareOp::kNotIn:
      return !contains(heap, b, a);
  }
  return false;
}

bool contains(Heap& heap, const Value& container, const Value& item) {
  switch (container.type()) {
    case Type::kUndefined:
      if (container.as<Undefined>().strict) fail_undefined(container);
      return false;
    case Type::kString:
      if (!item.is_string()) {
        fail("'in' with text on the right needs text on the left, not {}", type_name(item));
      }
      heap.charge_steps(container.text().size() / 64);
      return container.text().find(item.text()) != std::string::npos;
    case Type::kDict:
      return container.as<Dict>().find(heap, item) != nullptr;
    case Type::kDictView: {
      const DictView& view = container.as<DictView>();
      if (view.kind == DictView::Kind::kKeys) return view.dict->find(heap, item) != nullptr;
      break;
    }
    case Type::kRange:
      if (item.is_integral()) {
        const Range& range = container.as<Range>();
        int64_t value = item.as_int();
        bool inside = range.step > 0 ? value >= range.start && value < range.stop
                                     : value <= range.start && value > range.stop;
        auto distance = static_cast<uint64_t>(value) - static_cast<uint64_t>(range.start);
        if (range.step < 0) distance = ~distance + 1;
        auto stride = range.step < 0 ? ~static_cast<uint64_t>(range.step) + 1
                                     : static_cast<uint64_t>(range.step);
        return inside && distance % stride == 0;
      }
      break;
    default:
      break;
  }
  Iterator* elements = iterate(heap, container);
  Value element;
  while (elements->next(element)) {
    if (equals_as_key(heap, element, item)) return true;
  }
  return false;
}

}  // namespace ffpa_jit::codegen
