#include "problem/modifier/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "problem/modifier/syntax.h"

namespace ffpa_jit::modifier {
namespace {

std::string text_of_number(float number) {
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";  // not to be read as an Int
  return text;
}

class Printer {
 public:
  explicit Printer(const Expression& expression) : nodes_(expression.nodes) {}

  std::string text;

  // In parentheses when the node binds less tightly than `precedence`.
  void print(int index, int precedence) {
    const Node& node = nodes_[index];
    const int own = precedence_of(node.op);
    if (own < precedence) text += '(';
    print_node(node, own);
    if (own < precedence) text += ')';
  }

 private:
  void print_node(const Node& node, int own) {
    switch (node.op) {
      case Op::kInteger:
        text += std::to_string(node.integer);
        return;
      case Op::kNumber:
        text += text_of_number(node.number);
        return;
      case Op::kTensor:
        text += fmt::format("t{}[", node.integer);
        print_list(node);
        text += ']';
        return;
      case Op::kNegate:
      case Op::kNot:
        text += node.op == Op::kNot ? '!' : '-';
        print(node.operands[0], own);
        return;
      case Op::kSelect:
        print(node.operands[0], own + 1);
        text += '?';
        print(node.operands[1], own);
        text += ':';
        print(node.operands[2], own);
        return;
      default:
        break;
    }
    if (const std::string_view name = variable_name(node.op); !name.empty()) {
      text += name;
    } else if (const std::string_view name = function_name(node.op); !name.empty()) {
      text += name;
      text += '(';
      print_list(node);
      text += ')';
    } else {
      print(node.operands[0], own);  // from the left: the right operand binds more tightly
      text += operator_of(node.op);
      print(node.operands[1], own + 1);
    }
  }

  void print_list(const Node& node) {
    for (int i = 0; i < node.operand_count; ++i) {
      if (i > 0) text += ',';
      print(node.operands[i], 0);
    }
  }

  const std::vector<Node>& nodes_;
};

}  // namespace

bool Expression::reads_tensor(int number) const {
  return std::ranges::any_of(
      nodes, [&](const Node& node) { return node.op == Op::kTensor && node.integer == number; });
}

std::string text_of(const Expression& expression) {
  Printer printer(expression);
  if (!expression.nodes.empty()) {
    const Node* root = &expression.nodes.back();
    int index = static_cast<int>(expression.nodes.size()) - 1;
    // A result that is an Int is converted by itself.
    if (root->op == Op::kToFloat) index = root->operands[0];
    printer.print(index, 0);
  }
  return std::move(printer.text);
}

std::string_view function_name(Op op) {
  for (const Function& function : kFunctions) {
    if (function.op == op) return function.name;
  }
  return {};
}

std::string_view variable_name(Op op) {
  for (const Variable& variable : kVariables) {
    if (variable.op == op) return variable.name;
  }
  return {};
}

}  // namespace ffpa_jit::modifier
