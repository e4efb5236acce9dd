#include "codegen/value.h"

#include "codegen/heap.h"
#include "codegen/operators.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {
namespace {

constexpr size_t kLinearSearch = 8;  // entries up to which a scan beats the index

}  // namespace

String::String(std::string value, bool is_markup)
    : text(std::move(value)), length(count_code_points(text)), markup(is_markup) {}

size_t Dict::position(Heap& heap, const Value& key, size_t hash) const {
  if (index_.empty()) {
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].hash == hash && equals_as_key(heap, entries[i].key, key)) return i;
    }
    return kNotFound;
  }
  auto [begin, end] = index_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (equals_as_key(heap, entries[it->second].key, key)) return it->second;
  }
  return kNotFound;
}

Value* Dict::find(Heap& heap, const Value& key) {
  size_t i = position(heap, key, hash_of(heap, key));
  return i == kNotFound ? nullptr : &entries[i].value;
}

void Dict::set(Heap& heap, const Value& key, const Value& value) {
  size_t hash = hash_of(heap, key);
  size_t i = position(heap, key, hash);
  if (i != kNotFound) {
    entries[i].value = value;
    return;
  }
  heap.charge_bytes(sizeof(Entry));
  entries.push_back({key, value, hash});
  if (!index_.empty()) {
    index_.emplace(hash, entries.size() - 1);
  } else if (entries.size() > kLinearSearch) {
    rebuild_index();
  }
}

bool Dict::erase(Heap& heap, const Value& key) {
  size_t i = position(heap, key, hash_of(heap, key));
  if (i == kNotFound) return false;
  heap.charge_steps(entries.size());
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
  rebuild_index();
  return true;
}

void Dict::clear() {
  entries.clear();
  index_.clear();
}

void Dict::rebuild_index() {
  index_.clear();
  if (entries.size() <= kLinearSearch) return;
  for (size_t i = 0; i < entries.size(); ++i) index_.emplace(entries[i].hash, i);
}

int64_t Range::size() const {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  // Unsigned: the distance of two int64 does not fit into one.
  uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                               : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : ~static_cast<uint64_t>(step) + 1;
  uint64_t count = (distance - 1) / stride + 1;
  return count > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(count);
}

std::string type_name(const Value& value) {
  switch (value.type()) {
    case Type::kMissing:
      return "missing";
    case Type::kUndefined:
      return value.as<Undefined>().strict ? "StrictUndefined" : "Undefined";
    case Type::kNone:
      return "None";
    case Type::kBool:
      return "bool object";
    case Type::kInt:
      return "int object";
    case Type::kFloat:
      return "float object";
    case Type::kString:
      return value.as_string().markup ? "Markup object" : "str object";
    case Type::kList:
      return "list object";
    case Type::kTuple:
      return "tuple object";
    case Type::kDict:
      return "dict object";
    case Type::kRange:
      return "range object";
    case Type::kDictView:
      return "dict view";
    case Type::kIterator:
      return "generator object";
    case Type::kCallable:
      return "function";
    case Type::kMacro:
      return "macro";
    case Type::kLoop:
      return "loop object";
    case Type::kNamespace:
      return "namespace object";
    case Type::kCycler:
      return "cycler object";
    case Type::kJoiner:
      return "joiner object";
    case Type::kModule:
      return "template module";
  }
  return "value";
}

}  // namespace ffpa_jit::codegen
