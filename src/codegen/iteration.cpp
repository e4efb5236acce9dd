#include "codegen/iteration.h"

#include <algorithm>

#include "codegen/failure.h"
#include "codegen/interpreter_objects.h"
#include "codegen/operators.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {
namespace {

struct ListIterator : Iterator {
  ListIterator(Heap& h, const List& l) : heap(h), list(l) {}
  bool next(Value& out) override {
    if (index >= list.items.size()) return false;
    heap.charge_steps(1);
    out = list.items[index++];
    return true;
  }
  Heap& heap;
  const List& list;
  size_t index = 0;
};

struct TextIterator : Iterator {
  TextIterator(Heap& h, const String& s) : heap(h), string(s) {}
  bool next(Value& out) override {
    if (offset >= string.text.size()) return false;
    heap.charge_steps(1);
    size_t begin = offset;
    next_code_point(string.text, offset);
    out = heap.string(string.text.substr(begin, offset - begin));
    return true;
  }
  Heap& heap;
  const String& string;
  size_t offset = 0;
};

struct DictIterator : Iterator {
  DictIterator(Heap& h, const Dict& d, DictView::Kind k)
      : heap(h), dict(d), kind(k), size(d.entries.size()) {}
  bool next(Value& out) override {
    if (dict.entries.size() != size) fail("this dict changed its size during iteration");
    if (index >= dict.entries.size()) return false;
    heap.charge_steps(1);
    const Dict::Entry& entry = dict.entries[index++];
    switch (kind) {
      case DictView::Kind::kKeys:
        out = entry.key;
        break;
      case DictView::Kind::kValues:
        out = entry.value;
        break;
      case DictView::Kind::kItems:
        out = heap.tuple({entry.key, entry.value});
        break;
    }
    return true;
  }
  Heap& heap;
  const Dict& dict;
  DictView::Kind kind;
  size_t size;
  size_t index = 0;
};

struct RangeIterator : Iterator {
  RangeIterator(Heap& h, const Range& r) : heap(h), range(r), size(r.size()) {}
  bool next(Value& out) override {
    if (index >= size) return false;
    heap.charge_steps(1);
    out = Value::integer(range.at(index++));
    return true;
  }
  Heap& heap;
  Range range;
  int64_t size;
  int64_t index = 0;
};

struct EmptyIterator : Iterator {
  bool next(Value&) override { return false; }
};

struct Generator : Iterator {
  Generator(Heap& h, std::function<bool(Value&)> n) : heap(h), function(std::move(n)) {}
  bool next(Value& out) override {
    if (finished) return false;
    if (running) fail("this generator is already running");
    heap.charge_steps(1);
    running = true;
    try {
      finished = !function(out);
    } catch (...) {
      running = false;
      finished = true;
      throw;
    }
    running = false;
    return !finished;
  }
  Heap& heap;
  std::function<bool(Value&)> function;
  bool finished = false;
  bool running = false;
};

}  // namespace

Iterator* iterate(Heap& heap, const Value& value) {
  switch (value.type()) {
    case Type::kString:
      return heap.make<TextIterator>(heap, value.as_string());
    case Type::kList:
    case Type::kTuple:
      return heap.make<ListIterator>(heap, value.as<List>());
    case Type::kDict:
      return heap.make<DictIterator>(heap, value.as<Dict>(), DictView::Kind::kKeys);
    case Type::kDictView: {
      const DictView& view = value.as<DictView>();
      return heap.make<DictIterator>(heap, *view.dict, view.kind);
    }
    case Type::kRange:
      return heap.make<RangeIterator>(heap, value.as<Range>());
    case Type::kIterator:
      return &value.as<Iterator>();
    case Type::kLoop:
      return loop_iterator(heap, value.as<Loop>());
    case Type::kUndefined:
      if (value.as<Undefined>().strict) fail_undefined(value);
      return heap.make<EmptyIterator>();
    default:
      fail("{} is not iterable", type_name(value));
  }
}

bool is_iterable(const Value& value) {
  switch (value.type()) {
    case Type::kString:
    case Type::kList:
    case Type::kTuple:
    case Type::kDict:
    case Type::kDictView:
    case Type::kRange:
    case Type::kIterator:
    case Type::kLoop:
      return true;
    case Type::kUndefined:
      if (value.as<Undefined>().strict) fail_undefined(value);
      return true;
    default:
      return false;
  }
}

std::vector<Value> collect(Heap& heap, const Value& value) {
  Iterator* elements = iterate(heap, value);
  std::vector<Value> result;
  Value element;
  while (elements->next(element)) result.push_back(element);
  return result;
}

Value make_generator(Heap& heap, std::function<bool(Value&)> next) {
  return Value::object(Type::kIterator, heap.make<Generator>(heap, std::move(next)));
}

bool has_length(const Value& value) {
  switch (value.type()) {
    case Type::kUndefined:
    case Type::kString:
    case Type::kList:
    case Type::kTuple:
    case Type::kDict:
    case Type::kDictView:
    case Type::kRange:
    case Type::kLoop:
      return true;
    default:
      return false;
  }
}

int64_t length_of(const Value& value) {
  switch (value.type()) {
    case Type::kUndefined:
      if (value.as<Undefined>().strict) fail_undefined(value);
      return 0;
    case Type::kString:
      return static_cast<int64_t>(value.as_string().length);
    case Type::kList:
    case Type::kTuple:
      return static_cast<int64_t>(value.as<List>().items.size());
    case Type::kDict:
      return static_cast<int64_t>(value.as<Dict>().entries.size());
    case Type::kDictView:
      return static_cast<int64_t>(value.as<DictView>().dict->entries.size());
    case Type::kRange:
      return value.as<Range>().size();
    case Type::kLoop:
      return loop_length(value.as<Loop>());
    default:
      fail("{} has no length", type_name(value));
  }
}

int64_t SliceBounds::size() const {
  Range range;
  range.start = start;
  range.stop = stop;
  range.step = step;
  return range.size();
}

SliceBounds slice_bounds(int64_t length, const Value& start, const Value& stop, const Value& step) {
  auto index = [](const Value& v) { return to_integer(v, "a slice bound"); };
  auto absent = [](const Value& v) { return v.missing() || v.is(Type::kNone); };
  SliceBounds bounds{0, 0, absent(step) ? 1 : index(step)};
  if (bounds.step == 0) fail("the step of a slice cannot be 0");
  if (bounds.step == INT64_MIN) bounds.step = -INT64_MAX;
  int64_t low = bounds.step < 0 ? -1 : 0;
  int64_t high = bounds.step < 0 ? length - 1 : length;
  auto clamp = [&](int64_t i) {
    if (i < 0) i = i < -length ? low : i + length;
    return std::clamp(i, low, high);
  };
  bounds.start = absent(start) ? (bounds.step < 0 ? high : low) : clamp(index(start));
  bounds.stop = absent(stop) ? (bounds.step < 0 ? low : high) : clamp(index(stop));
  return bounds;
}

Value slice(Heap& heap, const Value& sequence, const Value& start, const Value& stop,
            const Value& step) {
  if (sequence.undefined()) fail_undefined(sequence);
  switch (sequence.type()) {
    case Type::kList:
    case Type::kTuple: {
      const auto& source = sequence.as<List>().items;
      SliceBounds bounds = slice_bounds(static_cast<int64_t>(source.size()), start, stop, step);
      int64_t size = bounds.size();
      heap.charge_steps(static_cast<size_t>(size));
      std::vector<Value> items;
      for (int64_t i = 0; i < size; ++i) {
        items.push_back(source[static_cast<size_t>(bounds.start + i * bounds.step)]);
      }
      return sequence.is(Type::kList) ? heap.list(std::move(items)) : heap.tuple(std::move(items));
    }
    case Type::kString: {
      const String& string = sequence.as_string();
      SliceBounds bounds = slice_bounds(static_cast<int64_t>(string.length), start, stop, step);
      int64_t size = bounds.size();
      heap.charge_bytes(string.text.size());
      if (string.ascii()) {
        std::string out;
        for (int64_t i = 0; i < size; ++i) {
          out += string.text[static_cast<size_t>(bounds.start + i * bounds.step)];
        }
        return heap.string(std::move(out), string.markup);
      }
      std::u32string wide = decode_utf8(string.text), out;
      for (int64_t i = 0; i < size; ++i) {
        out += wide[static_cast<size_t>(bounds.start + i * bounds.step)];
      }
      return heap.string(encode_utf8(out), string.markup);
    }
    case Type::kRange: {
      const Range& range = sequence.as<Range>();
      SliceBounds bounds = slice_bounds(range.size(), start, stop, step);
      Range* result = heap.make<Range>();
      auto at = [&](int64_t i) {
        int64_t product, sum;
        if (__builtin_mul_overflow(i, range.step, &product) ||
            __builtin_add_overflow(range.start, product, &sum)) {
          fail("this slice of a range does not fit in 64 bits");
        }
        return sum;
      };
      result->start = at(bounds.start);
      result->stop = at(bounds.stop);
      if (__builtin_mul_overflow(range.step, bounds.step, &result->step)) {
        fail("this slice of a range does not fit in 64 bits");
      }
      return Value::object(Type::kRange, result);
    }
    default:
      fail("{} cannot be sliced", type_name(sequence));
  }
}

}  // namespace ffpa_jit::codegen
