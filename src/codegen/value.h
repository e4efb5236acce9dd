// The values that templates compute with: Python's, as far as Jinja shows them. A Value is 16 bytes
// and copied freely; what it points to belongs to a Heap (one per render, one per parsed template
// for its constants) and lives as long as that. No reference counts, so cycles made by templates
// cost nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/output_lines.h"

namespace ffpa_jit::codegen {

class Heap;
class Value;
struct CallArguments;
class Interpreter;

enum class Type : uint8_t {
  kMissing,  // no value: an empty variable slot, an argument that was not given; never seen by a
             // template
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kList,
  kTuple,
  kDict,
  kRange,
  kDictView,
  kIterator,  // what Python's generators are: consumed once
  kCallable,  // a bound method or a global function
  kMacro,
  kLoop,
  kNamespace,
  kCycler,
  kJoiner,
  kModule
};

struct Object {
  virtual ~Object() = default;
};

struct String : Object {
  String(std::string value, bool is_markup);
  bool ascii() const { return length == text.size(); }

  std::string text;
  size_t length;  // code points
  bool markup;    // Markup of Python's markupsafe, as `tojson` and `safe` return
  const LineOrigins* lines = nullptr;  // captured output only: where each line came from
};

struct Undefined;
struct List;
struct Dict;
struct Range;
struct DictView;
struct Iterator;
struct Callable;
struct Macro;
struct Loop;
struct Namespace;
struct Cycler;
struct Joiner;
struct Module;

class Value {
 public:
  Value() : type_(Type::kMissing), object_(nullptr) {}
  static Value none() { return Value(Type::kNone, nullptr); }
  static Value boolean(bool b) {
    Value v(Type::kBool, nullptr);
    v.int_ = b ? 1 : 0;
    return v;
  }
  static Value integer(int64_t i) {
    Value v(Type::kInt, nullptr);
    v.int_ = i;
    return v;
  }
  static Value floating(double d) {
    Value v(Type::kFloat, nullptr);
    v.float_ = d;
    return v;
  }
  static Value object(Type type, const Object* object) {
    return Value(type, const_cast<Object*>(object));
  }
  Value(const String* string) : Value(Type::kString, const_cast<String*>(string)) {}  // NOLINT

  Type type() const { return type_; }
  bool is(Type type) const { return type_ == type; }
  bool missing() const { return type_ == Type::kMissing; }
  bool undefined() const { return type_ == Type::kUndefined; }
  bool is_string() const { return type_ == Type::kString; }
  // bool is an int, as in Python.
  bool is_integral() const { return type_ == Type::kInt || type_ == Type::kBool; }
  bool is_number() const { return is_integral() || type_ == Type::kFloat; }

  bool as_bool() const { return int_ != 0; }
  int64_t as_int() const { return int_; }  // also of a bool
  double as_float() const { return float_; }
  const String& as_string() const { return *static_cast<const String*>(object_); }
  const std::string& text() const { return as_string().text; }
  // The object behind any other type; the caller has checked type().
  template <typename T>
  T& as() const {
    return *static_cast<T*>(object_);
  }
  const Object* identity() const { return object_; }

 private:
  Value(Type type, Object* object) : type_(type), object_(object) {}

  Type type_;
  union {
    int64_t int_;
    double float_;
    Object* object_;
  };
};

struct Undefined : Object {
  std::string message;  // "'x' is undefined"
  bool strict =
      true;  // false: the result of an inline `if` without `else`, which prints as nothing
};

// A list or a tuple; the Value's type tells which.
struct List : Object {
  std::vector<Value> items;
  bool group = false;  // a tuple made by `groupby`: has .grouper and .list
};

// Insertion-ordered, any hashable key.
struct Dict : Object {
  struct Entry {
    Value key;
    Value value;
    size_t hash;
  };
  std::vector<Entry> entries;

  Value* find(Heap& heap, const Value& key);
  void set(Heap& heap, const Value& key, const Value& value);
  bool erase(Heap& heap, const Value& key);
  void clear();

 private:
  static constexpr size_t kNotFound = static_cast<size_t>(-1);
  size_t position(Heap& heap, const Value& key, size_t hash) const;
  void rebuild_index();
  // hash -> position; used once there are more than a handful of entries.
  std::unordered_multimap<size_t, size_t> index_;
};

struct Range : Object {
  int64_t start = 0, stop = 0, step = 1;
  int64_t size() const;
  int64_t at(int64_t index) const { return start + index * step; }
};

struct DictView : Object {
  enum class Kind { kKeys, kValues, kItems };
  Dict* dict = nullptr;
  Kind kind = Kind::kKeys;
};

struct Iterator : Object {
  // Stores the next element and returns true, or returns false at the end.
  virtual bool next(Value& out) = 0;
};

struct Callable : Object {
  using Function = std::function<Value(Interpreter&, const CallArguments&)>;
  std::string name;
  Function function;
};

struct Namespace : Object {
  Dict* attributes = nullptr;
};

struct Cycler : Object {
  std::vector<Value> items;
  size_t position = 0;
};

struct Joiner : Object {
  Value separator;
  bool used = false;
};

// "list object", as Python's messages name a type.
std::string type_name(const Value& value);

}  // namespace ffpa_jit::codegen
