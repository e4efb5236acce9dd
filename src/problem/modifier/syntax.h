// The words of the score modifier's language, as tables: what parse.cpp reads and expression.cpp
// prints.
#pragma once

#include <array>
#include <string_view>

#include "problem/modifier/expression.h"

namespace ffpa_jit::modifier {

struct Variable {
  std::string_view name;
  Op op;
  Type type;
};

inline constexpr std::array<Variable, 8> kVariables{{
    {"score", Op::kScore, Type::kFloat},
    {"b", Op::kBatch, Type::kInt},
    {"h", Op::kHead, Type::kInt},
    {"q", Op::kQuery, Type::kInt},
    {"k", Op::kKey, Type::kInt},
    {"nq", Op::kSeqlenQ, Type::kInt},
    {"nk", Op::kSeqlenK, Type::kInt},
    {"nh", Op::kHeads, Type::kInt},
}};

// What a function takes and gives.
enum class Signature { kFloatToFloat, kNumeric, kToFloat, kToInt };

struct Function {
  std::string_view name;
  Op op;
  int operands;
  Signature signature;
};

inline constexpr std::array<Function, 12> kFunctions{{
    {"abs", Op::kAbs, 1, Signature::kNumeric},
    {"min", Op::kMin, 2, Signature::kNumeric},
    {"max", Op::kMax, 2, Signature::kNumeric},
    {"floor", Op::kFloor, 1, Signature::kFloatToFloat},
    {"exp", Op::kExp, 1, Signature::kFloatToFloat},
    {"exp2", Op::kExp2, 1, Signature::kFloatToFloat},
    {"log", Op::kLog, 1, Signature::kFloatToFloat},
    {"log2", Op::kLog2, 1, Signature::kFloatToFloat},
    {"sqrt", Op::kSqrt, 1, Signature::kFloatToFloat},
    {"tanh", Op::kTanh, 1, Signature::kFloatToFloat},
    {"float", Op::kToFloat, 1, Signature::kToFloat},
    {"int", Op::kToInt, 1, Signature::kToInt},
}};

struct Operator {
  std::string_view text;
  Op op;
  int precedence;  // higher binds more tightly
};

inline constexpr int kSelectPrecedence = 1;
inline constexpr int kUnaryPrecedence = 8;
inline constexpr int kPrimaryPrecedence = 9;

// Longer ones before their prefixes.
inline constexpr std::array<Operator, 14> kOperators{{
    {"||", Op::kOr, 2},
    {"&&", Op::kAnd, 3},
    {"==", Op::kEqual, 4},
    {"!=", Op::kNotEqual, 4},
    {"<=", Op::kLessEqual, 5},
    {">=", Op::kGreaterEqual, 5},
    {"<", Op::kLess, 5},
    {">", Op::kGreater, 5},
    {"+", Op::kAdd, 6},
    {"-", Op::kSubtract, 6},
    {"*", Op::kMultiply, 7},
    {"//", Op::kFloorDivide, 7},
    {"/", Op::kDivide, 7},
    {"%", Op::kModulo, 7},
}};

constexpr int precedence_of(Op op) {
  if (op == Op::kSelect) return kSelectPrecedence;
  if (op == Op::kNegate || op == Op::kNot) return kUnaryPrecedence;
  for (const Operator& known : kOperators) {
    if (known.op == op) return known.precedence;
  }
  return kPrimaryPrecedence;
}

constexpr std::string_view operator_of(Op op) {
  for (const Operator& known : kOperators) {
    if (known.op == op) return known.text;
  }
  return {};
}

}  // namespace ffpa_jit::modifier
