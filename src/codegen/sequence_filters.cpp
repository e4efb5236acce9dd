// Filters on sequences and dicts that look at their elements' places, order or sum.
#include <algorithm>

#include "codegen/attributes.h"
#include "codegen/failure.h"
#include "codegen/filters.h"
#include "codegen/interpreter.h"
#include "codegen/iteration.h"
#include "codegen/operators.h"
#include "codegen/sorting.h"
#include "codegen/text_form.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {
namespace {

using Args = BoundArguments;

bool flag(const Value& value) { return !value.missing() && truth(value); }

// What sorting and grouping compare when case does not matter.
Value fold_case(Heap& heap, const Value& value) {
  return value.is_string() ? Value(heap.string(to_lower(value.text()))) : value;
}

Value key_of(Heap& heap, const AttributePath& path, const Value& item, bool case_sensitive) {
  Value key = path.get(heap, item);
  return case_sensitive ? key : fold_case(heap, key);
}

Value length(Interpreter&, const Value& input, const Args&) {
  return Value::integer(length_of(input));
}

Value list(Interpreter& in, const Value& input, const Args&) {
  std::vector<Value> items = collect(in.heap(), input);
  return in.heap().list(std::move(items));
}

Value first(Interpreter& in, const Value& input, const Args&) {
  Value element;
  if (iterate(in.heap(), input)->next(element)) return element;
  return in.heap().undefined("there is no first item, the sequence is empty");
}

// reversed(x): only of what has a length and an order.
std::vector<Value> reversed_items(Interpreter& in, const Value& input) {
  switch (input.type()) {
    case Type::kUndefined:
    case Type::kString:
    case Type::kList:
    case Type::kTuple:
    case Type::kDict:
    case Type::kDictView:
    case Type::kRange:
      break;
    default:
      fail("{} cannot be reversed; add |list", type_name(input));
  }
  std::vector<Value> items = collect(in.heap(), input);
  std::reverse(items.begin(), items.end());
  return items;
}

Value last(Interpreter& in, const Value& input, const Args&) {
  if (input.is(Type::kRange)) {
    int64_t size = input.as<Range>().size();
    if (size > 0) return Value::integer(input.as<Range>().at(size - 1));
  }
  if (input.is(Type::kList) || input.is(Type::kTuple)) {
    if (!input.as<List>().items.empty()) return input.as<List>().items.back();
  }
  std::vector<Value> items = reversed_items(in, input);
  if (!items.empty()) return items.front();
  return in.heap().undefined("there is no last item, the sequence is empty");
}

Value generator_of(Heap& heap, std::vector<Value> items) {
  Value list = heap.list(std::move(items));
  return make_generator(heap, [list, i = size_t{0}](Value& out) mutable {
    const auto& source = list.as<List>().items;
    if (i >= source.size()) return false;
    out = source[i++];
    return true;
  });
}

Value reverse(Interpreter& in, const Value& input, const Args&) {
  if (input.is_string()) {
    std::u32string wide = decode_utf8(input.text());
    std::reverse(wide.begin(), wide.end());
    return in.heap().string(encode_utf8(wide), input.as_string().markup);
  }
  if (input.is(Type::kIterator)) {
    std::vector<Value> items = collect(in.heap(), input);
    std::reverse(items.begin(), items.end());
    return in.heap().list(std::move(items));
  }
  return generator_of(in.heap(), reversed_items(in, input));
}

Value join(Interpreter& in, const Value& input, const Args& args) {
  std::string separator = args[0].missing() ? "" : str_of(in.heap(), args[0]);
  AttributePath path(in.heap(), args[1]);
  std::string out;
  Iterator* elements = iterate(in.heap(), input);
  Value element;
  bool first = true;
  while (elements->next(element)) {
    size_t before = out.size();
    if (!first) out += separator;
    first = false;
    append_str(in.heap(), out, path.get(in.heap(), element));
    in.heap().charge_bytes(out.size() - before);
  }
  return in.heap().string(std::move(out));
}

Value sum(Interpreter& in, const Value& input, const Args& args) {
  AttributePath path(in.heap(), args[0]);
  Value total = args[1].missing() ? Value::integer(0) : args[1];
  if (total.is_string()) fail("sum cannot add text; use |join");
  Iterator* elements = iterate(in.heap(), input);
  Value element;
  while (elements->next(element)) {
    total = binary(in.heap(), BinaryOp::kAdd, total, path.get(in.heap(), element));
  }
  return total;
}

Value extreme(Interpreter& in, const Value& input, const Args& args, bool largest) {
  bool case_sensitive = flag(args[0]);
  AttributePath path(in.heap(), args[1]);
  Iterator* elements = iterate(in.heap(), input);
  Value best, element;
  if (!elements->next(best))
    return in.heap().undefined("nothing to choose from, the sequence is empty");
  Value best_key = key_of(in.heap(), path, best, case_sensitive);
  while (elements->next(element)) {
    Value key = key_of(in.heap(), path, element, case_sensitive);
    if (compare(in.heap(), largest ? CompareOp::kGt : CompareOp::kLt, key, best_key)) {
      best = element;
      best_key = key;
    }
  }
  return best;
}
Value min(Interpreter& in, const Value& input, const Args& args) {
  return extreme(in, input, args, false);
}
Value max(Interpreter& in, const Value& input, const Args& args) {
  return extreme(in, input, args, true);
}

// The attribute paths of sort: "a,b.c" is two.
std::vector<AttributePath> sort_paths(Heap& heap, const Value& attribute) {
  std::vector<AttributePath> paths;
  if (!attribute.is_string()) {
    paths.emplace_back(heap, attribute);
    return paths;
  }
  const std::string& text = attribute.text();
  for (size_t begin = 0;;) {
    size_t comma = text.find(',', begin);
    paths.emplace_back(
        heap,
        Value(heap.string(text.substr(begin, comma == std::string::npos ? comma : comma - begin))));
    if (comma == std::string::npos) return paths;
    begin = comma + 1;
  }
}

Value sort(Interpreter& in, const Value& input, const Args& args) {
  bool descending = flag(args[0]), case_sensitive = flag(args[1]);
  std::vector<AttributePath> paths = sort_paths(in.heap(), args[2]);
  std::vector<Value> items = collect(in.heap(), input), keys;
  for (const Value& item : items) {
    std::vector<Value> key;
    for (const AttributePath& path : paths)
      key.push_back(key_of(in.heap(), path, item, case_sensitive));
    keys.push_back(in.heap().list(std::move(key)));
  }
  sort_by_keys(in.heap(), items, keys, descending);
  return in.heap().list(std::move(items));
}

Value dictsort(Interpreter& in, const Value& input, const Args& args) {
  if (input.undefined()) fail_undefined(input);
  if (!input.is(Type::kDict)) fail("dictsort needs a dict, not {}", type_name(input));
  bool case_sensitive = flag(args[0]), descending = flag(args[2]);
  std::string by = args[1].missing() ? "key" : str_of(in.heap(), args[1]);
  if (by != "key" && by != "value") fail("dictsort sorts by 'key' or 'value'");
  std::vector<Value> items, keys;
  for (const Dict::Entry& entry : input.as<Dict>().entries) {
    in.heap().charge_steps(1);
    items.push_back(in.heap().tuple({entry.key, entry.value}));
    const Value& key = by == "key" ? entry.key : entry.value;
    keys.push_back(case_sensitive ? key : fold_case(in.heap(), key));
  }
  sort_by_keys(in.heap(), items, keys, descending);
  return in.heap().list(std::move(items));
}

Value items(Interpreter& in, const Value& input, const Args&) {
  // As in Jinja2, what is wrong with the value shows when the items are asked for.
  Heap& heap = in.heap();
  return make_generator(
      heap, [&heap, input, elements = static_cast<Iterator*>(nullptr)](Value& out) mutable {
        if (input.undefined()) return false;
        if (!input.is(Type::kDict)) fail("items needs a dict, not {}", type_name(input));
        if (!elements) {
          auto* view = heap.make<DictView>();
          view->dict = &input.as<Dict>();
          view->kind = DictView::Kind::kItems;
          elements = iterate(heap, Value::object(Type::kDictView, view));
        }
        return elements->next(out);
      });
}

Value groupby(Interpreter& in, const Value& input, const Args& args) {
  Heap& heap = in.heap();
  AttributePath path(heap, args[0], args[1]);
  bool case_sensitive = flag(args[2]);
  std::vector<Value> items = collect(heap, input), keys;
  for (const Value& item : items) keys.push_back(key_of(heap, path, item, case_sensitive));
  sort_by_keys(heap, items, keys, false);
  std::vector<Value> groups;
  Value group_key;
  for (const Value& item : items) {
    Value key = key_of(heap, path, item, case_sensitive);
    if (groups.empty() || !equals(heap, group_key, key)) {
      // The group is named by its first item's key, in its own case.
      Value group = heap.tuple({path.get(heap, item), heap.list({})});
      group.as<List>().group = true;
      groups.push_back(group);
      group_key = key;
    }
    groups.back().as<List>().items[1].as<List>().items.push_back(item);
  }
  return heap.list(std::move(groups));
}

Value batch(Interpreter& in, const Value& input, const Args& args) {
  Heap& heap = in.heap();
  Value line_count = args[0], fill = args[1];
  return make_generator(heap,
                        [&heap, input, line_count, fill, elements = static_cast<Iterator*>(nullptr),
                         done = false](Value& out) mutable {
                          if (done) return false;
                          if (!elements) elements = iterate(heap, input);
                          double wanted = line_count.is_number() ? to_double(line_count) : -1;
                          std::vector<Value> group;
                          Value element;
                          while (static_cast<double>(group.size()) != wanted || group.empty()) {
                            if (!elements->next(element)) {
                              done = true;
                              break;
                            }
                            group.push_back(element);
                          }
                          if (group.empty()) return false;
                          if (done && !fill.missing() && !fill.is(Type::kNone)) {
                            int64_t size = to_integer(line_count, "the size of a batch");
                            int64_t missing = size - static_cast<int64_t>(group.size());
                            if (missing > 0) {
                              heap.charge_steps(static_cast<size_t>(missing));
                              group.insert(group.end(), static_cast<size_t>(missing), fill);
                            }
                          }
                          out = heap.list(std::move(group));
                          return true;
                        });
}

Value slice(Interpreter& in, const Value& input, const Args& args) {
  Heap& heap = in.heap();
  Value count = args[0], fill = args[1];
  return make_generator(heap, [&heap, input, count, fill, items = std::vector<Value>(),
                               index = int64_t{-1}, offset = int64_t{0}](Value& out) mutable {
    int64_t slices = to_integer(count, "the number of slices");
    if (index < 0) {
      items = collect(heap, input);
      if (slices == 0) fail("division by zero");
      index = 0;
    }
    if (index >= slices) return false;
    auto size = static_cast<int64_t>(items.size());
    int64_t per_slice = size / slices, with_extra = size % slices;
    int64_t begin = offset + index * per_slice;
    if (index < with_extra) ++offset;
    int64_t end = offset + (index + 1) * per_slice;
    heap.charge_steps(static_cast<size_t>(end - begin));
    std::vector<Value> part(items.begin() + begin, items.begin() + end);
    if (!fill.missing() && !fill.is(Type::kNone) && index >= with_extra) part.push_back(fill);
    ++index;
    out = heap.list(std::move(part));
    return true;
  });
}

Value unique(Interpreter& in, const Value& input, const Args& args) {
  Heap& heap = in.heap();
  bool case_sensitive = flag(args[0]);
  AttributePath path(heap, args[1]);
  auto* seen = heap.make<Dict>();
  return make_generator(heap, [&heap, input, path, case_sensitive, seen,
                               elements = static_cast<Iterator*>(nullptr)](Value& out) mutable {
    if (!elements) elements = iterate(heap, input);
    while (elements->next(out)) {
      Value key = key_of(heap, path, out, case_sensitive);
      if (seen->find(heap, key)) continue;
      seen->set(heap, key, Value::none());
      return true;
    }
    return false;
  });
}

const FilterEntry kFilters[] = {
    {"length", {}, length},
    {"count", {}, length},
    {"list", {}, list},
    {"first", {}, first},
    {"last", {}, last},
    {"reverse", {}, reverse},
    {"join", {{"d", "attribute"}, 0}, join},
    {"sum", {{"attribute", "start"}, 0}, sum},
    {"min", {{"case_sensitive", "attribute"}, 0}, min},
    {"max", {{"case_sensitive", "attribute"}, 0}, max},
    {"sort", {{"reverse", "case_sensitive", "attribute"}, 0}, sort},
    {"dictsort", {{"case_sensitive", "by", "reverse"}, 0}, dictsort},
    {"items", {}, items},
    {"groupby", {{"attribute", "default", "case_sensitive"}, 1}, groupby},
    {"batch", {{"linecount", "fill_with"}, 1}, batch},
    {"slice", {{"slices", "fill_with"}, 1}, slice},
    {"unique", {{"case_sensitive", "attribute"}, 0}, unique},
};

}  // namespace

const std::span<const FilterEntry> kSequenceFilters(kFilters);

}  // namespace ffpa_jit::codegen
