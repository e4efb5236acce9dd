// Expression: a score modifier after parsing: typed, conversions explicit, operands before their
// users. Read by what computes it: evaluate.h on the host, src/plan/modifier_code.h as source of a
// kernel. The language is described in docs/semantics.md, "Score modifier".
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ffpa_jit::modifier {

// Int is 32 bits wide and wraps; Float is the fp32 of kernels.
enum class Type : uint8_t { kInt, kFloat, kBool };

enum class Op : uint8_t {
  kInteger,  // literals
  kNumber,
  kScore,  // variables
  kBatch,
  kHead,
  kQuery,
  kKey,
  kSeqlenQ,
  kSeqlenK,
  kHeads,
  kTensor,   // an element of a tensor; operands are its indices
  kToFloat,  // from Int
  kToInt,    // from Float: toward zero, saturated, NaN is 0
  kNegate,
  kNot,
  kMultiply,
  kDivide,       // of Floats
  kFloorDivide,  // of Ints, towards minus infinity; by 0 is 0
  kModulo,       // of Ints, a - a // b * b; by 0 is 0
  kAdd,
  kSubtract,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kSelect,  // condition, then, else
  kAbs,
  kMin,  // a < b ? a : b
  kMax,  // a > b ? a : b
  kFloor,
  kExp,
  kExp2,
  kLog,
  kLog2,
  kSqrt,
  kTanh,
};

struct Node {
  Op op = Op::kInteger;
  Type type = Type::kInt;
  int32_t integer = 0;  // kInteger; kTensor: its number
  float number = 0;     // kNumber
  int operand_count = 0;
  std::array<int, 4> operands{};  // positions in Expression::nodes, all smaller than this node's
};

struct Expression {
  std::vector<Node> nodes;  // the last one is the result, a Float

  bool reads_tensor(int number) const;
};

// Without spaces, with the fewest parentheses, literals in one spelling: parse() of it gives an
// expression of the same text.
std::string text_of(const Expression& expression);

// "exp2" and so on for functions of one or two operands; empty for other operations.
std::string_view function_name(Op op);
// "score", "b" ...; empty for other operations.
std::string_view variable_name(Op op);

}  // namespace ffpa_jit::modifier
