#include "codegen/interpreter.h"

#include "base/error.h"
#include "codegen/attributes.h"
#include "codegen/builtins.h"
#include "codegen/failure.h"
#include "codegen/filters.h"
#include "codegen/iteration.h"
#include "codegen/operators.h"
#include "codegen/template_tests.h"
#include "codegen/text_form.h"
#include "codegen/unicode.h"

namespace ffpa_jit::codegen {

std::string describe_call_site(std::string_view what, const Source& source, uint32_t offset) {
  return fmt::format("\n{} from {}:{}", what, source.path(), source.line_of(offset));
}

Interpreter::Interpreter(const Limits& limits, bool line_directives, Loader loader)
    : heap_(limits),
      line_directives_(line_directives),
      loader_(std::move(loader)),
      globals_(make_globals(heap_)) {}

std::string Interpreter::render(std::shared_ptr<const Template> main,
                                const nlohmann::ordered_json& context) {
  templates_.push_back(main);
  source_ = main.get();
  try {
    auto given = std::make_shared<Names>();
    given->outer = globals_;
    if (!context.is_null()) {
      if (!context.is_object()) fail("the context of a template must be a JSON object");
      for (const auto& [name, value] : context.items())
        given->values[name] = value_of_json(heap_, value);
    }
    Context* names = heap_.make<Context>();
    names->source = main.get();
    names->given = std::move(given);
    Output output(heap_, line_directives_);
    run_template(*main, *names, output);
    return line_directives_ ? output.with_line_directives() : output.text();
  } catch (const Failure& failure) {
    raise(0, failure.what());
  }
}

void Interpreter::raise(uint32_t offset, std::string_view message) const {
  throw Error(FFPA_JIT_TEMPLATE_ERROR,
              describe_error(source_->source, offset, message) + call_chain());
}

std::string Interpreter::call_chain() const {
  constexpr size_t kShownAtEachEnd = 8;  // a deep recursion repeats itself
  std::string text;
  size_t count = call_sites_.size();
  for (size_t i = 0; i < count; ++i) {
    if (i >= kShownAtEachEnd && i + kShownAtEachEnd < count) {
      if (i == kShownAtEachEnd) text += fmt::format("\n... {} more", count - 2 * kShownAtEachEnd);
      continue;
    }
    const CallSite& site = call_sites_[count - 1 - i];
    text += describe_call_site(site.what, site.source->source, site.offset);
  }
  return text;
}

Interpreter::Depth::Depth(Interpreter& interpreter) : interpreter_(interpreter) {
  size_t allowed = interpreter.heap_.limits().call_depth;
  if (interpreter.depth_ >= allowed)
    fail("evaluation nested deeper than {} levels (endless recursion?)", allowed);
  ++interpreter.depth_;
}

Interpreter::Frame::Frame(Interpreter& interpreter, Activation* activation, const Template* source,
                          Output* output)
    : interpreter_(interpreter),
      activation_(interpreter.activation_),
      source_(interpreter.source_),
      output_(interpreter.output_) {
  interpreter.activation_ = activation;
  interpreter.source_ = source;
  interpreter.output_ = output;
}

Interpreter::Frame::~Frame() {
  interpreter_.activation_ = activation_;
  interpreter_.source_ = source_;
  interpreter_.output_ = output_;
}

// The innermost expression that fails gives the error its place.
Value Interpreter::evaluate(const Expr& expr) {
  try {
    Depth depth(*this);
    return evaluate_here(expr);
  } catch (const Failure& failure) {
    raise(expr.offset, failure.what());
  }
}

Value Interpreter::evaluate_here(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kConst:
      return static_cast<const ConstExpr&>(expr).value;
    case ExprKind::kName:
      return load(static_cast<const NameExpr&>(expr));
    case ExprKind::kNamespaceRef:
      fail("a namespace attribute can only be assigned to here");
    case ExprKind::kTuple:
    case ExprKind::kList: {
      std::vector<Value> items;
      for (const ExprPtr& item : static_cast<const SequenceExpr&>(expr).items)
        items.push_back(evaluate(*item));
      return expr.kind == ExprKind::kList ? heap_.list(std::move(items))
                                          : heap_.tuple(std::move(items));
    }
    case ExprKind::kDict: {
      auto* dict = heap_.make<Dict>();
      for (const auto& [key, value] : static_cast<const DictExpr&>(expr).items) {
        Value evaluated_key = evaluate(*key);
        dict->set(heap_, evaluated_key, evaluate(*value));
      }
      return Value::object(Type::kDict, dict);
    }
    case ExprKind::kUnary: {
      const auto& unary_expr = static_cast<const UnaryExpr&>(expr);
      return unary(heap_, unary_expr.op, evaluate(*unary_expr.operand));
    }
    case ExprKind::kBinary:
      return binary_operation(static_cast<const BinaryExpr&>(expr));
    case ExprKind::kLogical: {
      const auto& logical = static_cast<const LogicalExpr&>(expr);
      Value left = evaluate(*logical.left);
      return truth(left) == logical.is_and ? evaluate(*logical.right) : left;
    }
    case ExprKind::kCompare:
      return compare_chain(static_cast<const CompareExpr&>(expr));
    case ExprKind::kConcat: {
      std::string text;
      for (const ExprPtr& item : static_cast<const ConcatExpr&>(expr).items) {
        Value value = evaluate(*item);
        size_t before = text.size();
        append_str(heap_, text, value);
        heap_.charge_bytes(text.size() - before);
      }
      return heap_.string(std::move(text));
    }
    case ExprKind::kCondition: {
      const auto& condition = static_cast<const ConditionExpr&>(expr);
      if (truth(evaluate(*condition.test))) return evaluate(*condition.then);
      if (condition.otherwise) return evaluate(*condition.otherwise);
      return heap_.undefined("this inline if has no else and its condition is false", false);
    }
    case ExprKind::kAttribute: {
      const auto& attribute = static_cast<const AttributeExpr&>(expr);
      return get_attribute(heap_, evaluate(*attribute.object), *attribute.name);
    }
    case ExprKind::kSubscript:
      return subscript(static_cast<const SubscriptExpr&>(expr));
    case ExprKind::kSlice:
      fail("a slice can only stand alone in [ ]");
    case ExprKind::kFilter: {
      const auto& filter = static_cast<const FilterExpr&>(expr);
      return apply(filter, evaluate(*filter.input));
    }
    case ExprKind::kTest: {
      const auto& test = static_cast<const TestExpr&>(expr);
      if (!test.test) throw Failure(unknown_test(test.name));
      Value input = evaluate(*test.input);
      return Value::boolean(
          apply_test(*this, *test.test, input, evaluate_arguments(test.arguments)));
    }
    case ExprKind::kCall:
      return evaluate_call(static_cast<const CallExpr&>(expr), nullptr);
  }
  return {};
}

Value Interpreter::load(const NameExpr& name) {
  Value value = slot(name.ref);
  return value.missing() ? heap_.undefined(fmt::format("'{}' is undefined", name.name->text))
                         : value;
}

// An operator fails on an undefined operand: blame that one, not the operator.
void Interpreter::blame_undefined(const Value& left, const Expr& left_expr, const Value& right,
                                  const Expr& right_expr, const Failure& failure) const {
  if (left.undefined()) raise(left_expr.offset, failure.what());
  if (right.undefined()) raise(right_expr.offset, failure.what());
}

Value Interpreter::binary_operation(const BinaryExpr& expr) {
  Value left = evaluate(*expr.left);
  Value right = evaluate(*expr.right);
  try {
    return binary(heap_, expr.op, left, right);
  } catch (const Failure& failure) {
    blame_undefined(left, *expr.left, right, *expr.right, failure);
    throw;
  }
}

Value Interpreter::compare_chain(const CompareExpr& expr) {
  const Expr* left_expr = expr.first.get();
  Value left = evaluate(*left_expr);
  for (const auto& [op, operand] : expr.rest) {
    Value right = evaluate(*operand);
    try {
      if (!compare(heap_, op, left, right)) return Value::boolean(false);
    } catch (const Failure& failure) {
      blame_undefined(left, *left_expr, right, *operand, failure);
      throw;
    }
    left = right;
    left_expr = operand.get();
  }
  return Value::boolean(true);
}

Value Interpreter::subscript(const SubscriptExpr& expr) {
  Value object = evaluate(*expr.object);
  if (expr.index->kind != ExprKind::kSlice) return get_item(heap_, object, evaluate(*expr.index));
  const auto& bounds = static_cast<const SliceExpr&>(*expr.index);
  Value start = bounds.start ? evaluate(*bounds.start) : Value();
  Value stop = bounds.stop ? evaluate(*bounds.stop) : Value();
  Value step = bounds.step ? evaluate(*bounds.step) : Value();
  return slice(heap_, object, start, stop, step);
}

Value Interpreter::apply(const FilterExpr& expr, const Value& input) {
  if (!expr.filter) throw Failure(unknown_filter(expr.name));
  return apply_filter(*this, *expr.filter, input, evaluate_arguments(expr.arguments));
}

// The filter chain of a filter block or set block: its innermost input is the captured text.
Value Interpreter::filter_captured(const Expr& chain, const Value& captured) {
  const auto& filter = static_cast<const FilterExpr&>(chain);
  try {
    Depth depth(*this);
    Value input = filter.input ? filter_captured(*filter.input, captured) : captured;
    return apply(filter, input);
  } catch (const Failure& failure) {
    raise(chain.offset, failure.what());
  }
}

CallArguments Interpreter::evaluate_arguments(const Arguments& arguments) {
  CallArguments result;
  for (const ExprPtr& value : arguments.positional) result.positional.push_back(evaluate(*value));
  for (const auto& [name, value] : arguments.keyword)
    result.keyword.emplace_back(name, evaluate(*value));
  if (arguments.star) {
    for (const Value& value : collect(heap_, evaluate(*arguments.star)))
      result.positional.push_back(value);
  }
  if (arguments.star_star) {
    Value more = evaluate(*arguments.star_star);
    if (more.undefined()) fail_undefined(more);
    if (!more.is(Type::kDict)) fail("the value after ** must be a dict, not {}", type_name(more));
    for (const Dict::Entry& entry : more.as<Dict>().entries) {
      if (!entry.key.is_string()) fail("the keys of the dict after ** must be text");
      heap_.charge_steps(1 + result.keyword.size());
      for (const auto& [name, value] : result.keyword) {
        if (name->text == entry.key.text()) fail("argument '{}' is given twice", name->text);
      }
      result.keyword.emplace_back(&entry.key.as_string(), entry.value);
    }
  }
  return result;
}

Value value_of_json(Heap& heap, const nlohmann::ordered_json& json, size_t depth) {
  if (depth > heap.limits().value_depth)
    fail("the context nests deeper than {} levels", heap.limits().value_depth);
  switch (json.type()) {
    case nlohmann::json::value_t::null:
      return Value::none();
    case nlohmann::json::value_t::boolean:
      return Value::boolean(json.get<bool>());
    case nlohmann::json::value_t::number_integer:
      return Value::integer(json.get<int64_t>());
    case nlohmann::json::value_t::number_unsigned: {
      auto value = json.get<uint64_t>();
      if (value > static_cast<uint64_t>(INT64_MAX))
        fail("the integer {} in the context does not fit in 64 signed bits", value);
      return Value::integer(static_cast<int64_t>(value));
    }
    case nlohmann::json::value_t::number_float:
      return Value::floating(json.get<double>());
    case nlohmann::json::value_t::string: {
      const auto& text = json.get_ref<const std::string&>();
      if (find_invalid_utf8(text) != std::string::npos) fail("a text in the context is not UTF-8");
      return heap.string(text);
    }
    case nlohmann::json::value_t::array: {
      std::vector<Value> items;
      for (const auto& item : json) items.push_back(value_of_json(heap, item, depth + 1));
      return heap.list(std::move(items));
    }
    case nlohmann::json::value_t::object: {
      auto* dict = heap.make<Dict>();
      for (const auto& [key, value] : json.items()) {
        if (find_invalid_utf8(key) != std::string::npos) fail("a key in the context is not UTF-8");
        dict->set(heap, Value(heap.string(key)), value_of_json(heap, value, depth + 1));
      }
      return Value::object(Type::kDict, dict);
    }
    default:
      fail("the context holds a value that is not JSON");
  }
}

}  // namespace ffpa_jit::codegen
