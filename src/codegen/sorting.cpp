#include "codegen/sorting.h"

#include <algorithm>
#include <numeric>

#include "codegen/failure.h"
#include "codegen/iteration.h"
#include "codegen/operators.h"

namespace ffpa_jit::codegen {

void sort_by_keys(Heap& heap, std::vector<Value>& items, const std::vector<Value>& keys,
                  bool descending) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return descending ? less(heap, keys[b], keys[a]) : less(heap, keys[a], keys[b]);
  });
  std::vector<Value> sorted;
  sorted.reserve(items.size());
  for (size_t i : order) sorted.push_back(items[i]);
  items = std::move(sorted);
}

void fill_dict(Heap& heap, Dict& dict, const CallArguments& arguments) {
  if (arguments.positional.size() > 1) fail("dict takes one positional argument");
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is(Type::kDict)) {
      std::vector<Dict::Entry> entries = source.as<Dict>().entries;
      heap.charge_steps(entries.size());
      for (const Dict::Entry& entry : entries) dict.set(heap, entry.key, entry.value);
    } else {
      Iterator* elements = iterate(heap, source);
      Value element;
      while (elements->next(element)) {
        std::vector<Value> pair = collect(heap, element);
        if (pair.size() != 2) fail("dict needs pairs; one element has {} item(s)", pair.size());
        dict.set(heap, pair[0], pair[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.keyword) dict.set(heap, Value(name), value);
}

}  // namespace ffpa_jit::codegen
