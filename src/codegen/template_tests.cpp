#include "codegen/template_tests.h"

#include <map>

#include "codegen/failure.h"
#include "codegen/filters.h"
#include "codegen/interpreter.h"
#include "codegen/iteration.h"
#include "codegen/operators.h"
#include "codegen/text_case.h"
#include "codegen/text_form.h"

namespace ffpa_jit::codegen {
namespace {

using Args = BoundArguments;

bool modulo_is(Interpreter& in, const Value& input, const Value& divisor, int64_t wanted) {
  return equals(in.heap(), binary(in.heap(), BinaryOp::kMod, input, divisor),
                Value::integer(wanted));
}
bool odd(Interpreter& in, const Value& v, const Args&) {
  return modulo_is(in, v, Value::integer(2), 1);
}
bool even(Interpreter& in, const Value& v, const Args&) {
  return modulo_is(in, v, Value::integer(2), 0);
}
bool divisibleby(Interpreter& in, const Value& v, const Args& a) {
  return modulo_is(in, v, a[0], 0);
}

bool defined(Interpreter&, const Value& v, const Args&) { return !v.undefined(); }
bool undefined(Interpreter&, const Value& v, const Args&) { return v.undefined(); }
bool none(Interpreter&, const Value& v, const Args&) { return v.is(Type::kNone); }
bool boolean(Interpreter&, const Value& v, const Args&) { return v.is(Type::kBool); }
bool is_true(Interpreter&, const Value& v, const Args&) { return v.is(Type::kBool) && v.as_bool(); }
bool is_false(Interpreter&, const Value& v, const Args&) {
  return v.is(Type::kBool) && !v.as_bool();
}
bool integer(Interpreter&, const Value& v, const Args&) { return v.is(Type::kInt); }
bool floating(Interpreter&, const Value& v, const Args&) { return v.is(Type::kFloat); }
bool number(Interpreter&, const Value& v, const Args&) { return v.is_number(); }
bool string(Interpreter&, const Value& v, const Args&) { return v.is_string(); }
bool mapping(Interpreter&, const Value& v, const Args&) { return v.is(Type::kDict); }
bool iterable(Interpreter&, const Value& v, const Args&) { return is_iterable(v); }
bool escaped(Interpreter&, const Value& v, const Args&) {
  return v.is(Type::kModule) || (v.is_string() && v.as_string().markup);
}
bool lower(Interpreter& in, const Value& v, const Args&) {
  return is_lower_text(str_of(in.heap(), v));
}
bool upper(Interpreter& in, const Value& v, const Args&) {
  return is_upper_text(str_of(in.heap(), v));
}

bool sequence(Interpreter&, const Value& v, const Args&) {
  switch (v.type()) {
    case Type::kString:
    case Type::kList:
    case Type::kTuple:
    case Type::kDict:
    case Type::kRange:
      return true;
    case Type::kUndefined:
      return !v.as<Undefined>().strict;
    default:
      return false;
  }
}

bool callable(Interpreter&, const Value& v, const Args&) {
  switch (v.type()) {
    case Type::kCallable:
    case Type::kMacro:
    case Type::kLoop:
    case Type::kJoiner:
    case Type::kUndefined:
      return true;
    default:
      return false;
  }
}

bool sameas(Interpreter&, const Value& v, const Args& a) {
  const Value& other = a[0];
  if (v.type() != other.type()) return false;
  switch (v.type()) {
    case Type::kNone:
      return true;
    case Type::kBool:
      return v.as_bool() == other.as_bool();
    case Type::kInt:
    case Type::kFloat:
    case Type::kString:
      // Whether two equal numbers or texts are one object is an accident of Python's
      // implementation.
      fail("sameas compares true, false, none, lists and dicts; use == for {}", type_name(v));
    default:
      return v.identity() == other.identity();
  }
}

template <CompareOp kOp>
bool compares(Interpreter& in, const Value& v, const Args& a) {
  return compare(in.heap(), kOp, v, a[0]);
}

bool filter(Interpreter& in, const Value& v, const Args&) {
  return find_filter(text_of(in.heap(), v).text) != nullptr;
}
bool test(Interpreter& in, const Value& v, const Args&) {
  return find_test(text_of(in.heap(), v).text) != nullptr;
}

constexpr Parameters kOther{{"other"}, 1};

const TestEntry kTests[] = {
    {"odd", {}, odd},
    {"even", {}, even},
    {"divisibleby", {{"num"}, 1}, divisibleby},
    {"defined", {}, defined},
    {"undefined", {}, undefined},
    {"none", {}, none},
    {"boolean", {}, boolean},
    {"true", {}, is_true},
    {"false", {}, is_false},
    {"integer", {}, integer},
    {"float", {}, floating},
    {"number", {}, number},
    {"string", {}, string},
    {"mapping", {}, mapping},
    {"iterable", {}, iterable},
    {"sequence", {}, sequence},
    {"callable", {}, callable},
    {"escaped", {}, escaped},
    {"lower", {}, lower},
    {"upper", {}, upper},
    {"sameas", kOther, sameas},
    {"in", {{"seq"}, 1}, compares<CompareOp::kIn>},
    {"==", kOther, compares<CompareOp::kEq>},
    {"eq", kOther, compares<CompareOp::kEq>},
    {"equalto", kOther, compares<CompareOp::kEq>},
    {"!=", kOther, compares<CompareOp::kNe>},
    {"ne", kOther, compares<CompareOp::kNe>},
    {">", kOther, compares<CompareOp::kGt>},
    {"gt", kOther, compares<CompareOp::kGt>},
    {"greaterthan", kOther, compares<CompareOp::kGt>},
    {">=", kOther, compares<CompareOp::kGe>},
    {"ge", kOther, compares<CompareOp::kGe>},
    {"<", kOther, compares<CompareOp::kLt>},
    {"lt", kOther, compares<CompareOp::kLt>},
    {"lessthan", kOther, compares<CompareOp::kLt>},
    {"<=", kOther, compares<CompareOp::kLe>},
    {"le", kOther, compares<CompareOp::kLe>},
    {"filter", {}, filter},
    {"test", {}, test},
};

}  // namespace

const TestEntry* find_test(std::string_view name) {
  for (const TestEntry& entry : kTests) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

std::string unknown_test(std::string_view name) {
  return fmt::format("there is no test '{}'", name);
}

bool apply_test(Interpreter& interpreter, const TestEntry& test, const Value& input,
                const CallArguments& arguments) {
  return test.function(interpreter, input, bind(test.name, test.parameters, arguments));
}

}  // namespace ffpa_jit::codegen
