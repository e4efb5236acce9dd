#include "plan/feature_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "problem/modifier/parse.h"

namespace ffpa_jit {
namespace {

using modifier::Expression;
using modifier::Node;
using modifier::Op;
using modifier::Type;

// Names of the functions in the templates' modifier_math.
std::string_view function_of(Op op) {
  switch (op) {
    case Op::kToFloat:
      return "to_float";
    case Op::kToInt:
      return "to_int";
    case Op::kNegate:
      return "negate";
    case Op::kNot:
      return "logical_not";
    case Op::kMultiply:
      return "multiply";
    case Op::kDivide:
      return "divide";
    case Op::kFloorDivide:
      return "floor_divide";
    case Op::kModulo:
      return "modulo";
    case Op::kAdd:
      return "add";
    case Op::kSubtract:
      return "subtract";
    case Op::kLess:
      return "less";
    case Op::kLessEqual:
      return "less_equal";
    case Op::kGreater:
      return "greater";
    case Op::kGreaterEqual:
      return "greater_equal";
    case Op::kEqual:
      return "equal";
    case Op::kNotEqual:
      return "not_equal";
    case Op::kAnd:
      return "logical_and";
    case Op::kOr:
      return "logical_or";
    case Op::kSelect:
      return "select";
    default:
      return modifier::function_name(op);
  }
}

std::string_view type_name(Type type) {
  return type == Type::kInt ? "Int" : type == Type::kFloat ? "Float" : "Bool";
}

std::string literal_of(float number) {
  if (std::isinf(number)) return number > 0 ? "infinity()" : "-infinity()";
  std::string digits = fmt::format("{}", number);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return fmt::format("number({}f)", digits);
}

// Single assignments in the order of the nodes: no nesting, however deep the expression is.
class Writer {
 public:
  explicit Writer(const Expression& expression) {
    for (const Node& node : expression.nodes) names_.push_back(name_of(node));
  }

  std::vector<std::string> lines;
  std::set<std::string> functions;

  std::string result() const { return names_.back(); }

 private:
  std::string name_of(const Node& node) {
    if (node.op == Op::kInteger) return fmt::format("integer({})", node.integer);
    if (node.op == Op::kNumber) return literal_of(node.number);
    if (node.op == Op::kHeads) return "integer(params.heads_q)";
    if (const std::string_view name = modifier::variable_name(node.op); !name.empty()) {
      return std::string(name);
    }
    std::string call;
    if (node.op == Op::kTensor) {
      const std::string element = node.type == Type::kInt ? "int_element" : "float_element";
      functions.insert(element);
      call = fmt::format("{}(params.modifier_tensors[{}]", element, node.integer);
    } else {
      const std::string function(function_of(node.op));
      functions.insert(function);
      call = function + "(";
    }
    for (int i = 0; i < node.operand_count; ++i) {
      if (i > 0 || node.op == Op::kTensor) call += ", ";
      call += names_[node.operands[i]];
    }
    std::string name = fmt::format("v{}", lines.size());
    lines.push_back(fmt::format("const {} {} = {});", type_name(node.type), name, call));
    return name;
  }

  std::vector<std::string> names_;  // of each node: a variable or a literal
};

}  // namespace

void set_problem(nlohmann::ordered_json& context, const Problem& problem) {
  context["dtype"] = name_of(problem.dtype);
  context["head_dim"] = problem.head_dim;
  context["head_dim_v"] = problem.head_dim_v;
  context["varlen"] = problem.layout == Layout::kVarlen;
  context["window_left"] = problem.window_left;
  context["window_right"] = problem.window_right || problem.causal;
  context["mask"] = problem.has_mask;
  context["bias"] = false;
  if (problem.has_bias) context["bias"] = name_of(problem.bias_dtype);
  context["dropout"] = problem.dropout;
  context["softcap"] = problem.softcap;
  context["lse"] = problem.lse;
  set_features(context, problem);
}

void set_features(nlohmann::ordered_json& context, const Problem& problem) {
  context["modifier"] = false;
  if (!problem.score_modifier.empty()) {
    Writer writer(modifier::parse(problem.score_modifier, problem.modifier_tensors));
    context["modifier"] = {{"text", problem.score_modifier},
                           {"lines", writer.lines},
                           {"result", writer.result()},
                           {"functions", writer.functions}};
  }
  context["sinks"] = problem.sinks;
  context["seqlens_k"] = problem.seqlens_k;
  context["page_size"] = problem.page_size;
}

}  // namespace ffpa_jit
