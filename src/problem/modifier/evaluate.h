// Computes an expression for one score: the plain meaning of each operation. Called by the fp64
// reference (Real = double) and by the portable kernel (Real = float). Kernels that are generated
// compute the same from source.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "problem/dtype.h"
#include "problem/modifier/expression.h"

namespace ffpa_jit::modifier {

// t0 ... t3, in host memory.
struct TensorView {
  const void* data = nullptr;
  DType dtype = DType::kFp32;
  std::array<int64_t, 4> sizes{};
  std::array<int64_t, 4> strides{};  // in elements
};

template <typename Real>
struct Point {
  Real score;
  int32_t b, h, q, k, nq, nk, nh;
};

// Int arithmetic: 32 bits, wrapping.
constexpr int32_t wrapped(int64_t value) {
  return static_cast<int32_t>(static_cast<uint32_t>(value));
}
// Towards minus infinity; by 0 it is 0.
constexpr int32_t floor_divide(int32_t a, int32_t b) {
  if (b == 0) return 0;
  const int64_t quotient = int64_t{a} / b;
  return wrapped(quotient - (int64_t{a} % b != 0 && (a < 0) != (b < 0)));
}
template <typename Real>
int32_t to_int(Real x) {
  if (x != x) return 0;
  if (x >= Real{2147483648.0}) return std::numeric_limits<int32_t>::max();
  if (x <= Real{-2147483648.0}) return std::numeric_limits<int32_t>::min();
  return static_cast<int32_t>(x);
}

template <typename Real>
class Evaluator {
 public:
  // Both must outlive the evaluator.
  Evaluator(const Expression& expression, const std::array<TensorView, 4>& tensors)
      : nodes_(expression.nodes), tensors_(tensors), values_(nodes_.size()) {}

  Real operator()(const Point<Real>& point) {
    for (size_t i = 0; i < nodes_.size(); ++i) values_[i] = value_of(nodes_[i], point);
    return values_.back().real;
  }

 private:
  struct Value {
    int32_t whole = 0;  // Int, and Bool as 0 or 1
    Real real = 0;      // Float
  };

  static Value whole(int64_t value) { return {wrapped(value), Real{0}}; }
  static Value real(Real value) { return {0, value}; }

  Value value_of(const Node& node, const Point<Real>& point) const {
    const auto operand = [&](int i) -> const Value& { return values_[node.operands[i]]; };
    switch (node.op) {
      case Op::kInteger:
        return whole(node.integer);
      case Op::kNumber:
        return real(node.number);
      case Op::kScore:
        return real(point.score);
      case Op::kBatch:
        return whole(point.b);
      case Op::kHead:
        return whole(point.h);
      case Op::kQuery:
        return whole(point.q);
      case Op::kKey:
        return whole(point.k);
      case Op::kSeqlenQ:
        return whole(point.nq);
      case Op::kSeqlenK:
        return whole(point.nk);
      case Op::kHeads:
        return whole(point.nh);
      case Op::kTensor:
        return element(node);
      case Op::kToFloat:
        return real(static_cast<Real>(operand(0).whole));
      case Op::kToInt:
        return whole(to_int(operand(0).real));
      case Op::kNot:
        return whole(!operand(0).whole);
      case Op::kAnd:
        return whole(operand(0).whole && operand(1).whole);
      case Op::kOr:
        return whole(operand(0).whole || operand(1).whole);
      case Op::kSelect:
        return operand(0).whole ? operand(1) : operand(2);
      default:
        break;
    }
    const bool of_ints = nodes_[node.operands[0]].type == Type::kInt;
    return of_ints ? of_whole(node.op, operand(0).whole, operand(1).whole)
                   : of_real(node.op, operand(0).real, operand(1).real);
  }

  // An operation of one operand is given it twice or with any other: operands[1] is then 0.
  static Value of_whole(Op op, int64_t a, int64_t b) {
    switch (op) {
      case Op::kNegate:
        return whole(-a);
      case Op::kMultiply:
        return whole(a * b);
      case Op::kFloorDivide:
        return whole(floor_divide(static_cast<int32_t>(a), static_cast<int32_t>(b)));
      case Op::kModulo:
        return whole(
            b == 0 ? 0 : a - floor_divide(static_cast<int32_t>(a), static_cast<int32_t>(b)) * b);
      case Op::kAdd:
        return whole(a + b);
      case Op::kSubtract:
        return whole(a - b);
      case Op::kAbs:
        return whole(a < 0 ? -a : a);
      case Op::kMin:
        return whole(std::min(a, b));
      case Op::kMax:
        return whole(std::max(a, b));
      default:
        return whole(compare(op, a, b));
    }
  }

  static Value of_real(Op op, Real a, Real b) {
    switch (op) {
      case Op::kNegate:
        return real(-a);
      case Op::kMultiply:
        return real(a * b);
      case Op::kDivide:
        return real(a / b);
      case Op::kAdd:
        return real(a + b);
      case Op::kSubtract:
        return real(a - b);
      case Op::kAbs:
        return real(std::abs(a));
      case Op::kMin:
        return real(a < b ? a : b);
      case Op::kMax:
        return real(a > b ? a : b);
      case Op::kFloor:
        return real(std::floor(a));
      case Op::kExp:
        return real(std::exp(a));
      case Op::kExp2:
        return real(std::exp2(a));
      case Op::kLog:
        return real(std::log(a));
      case Op::kLog2:
        return real(std::log2(a));
      case Op::kSqrt:
        return real(std::sqrt(a));
      case Op::kTanh:
        return real(std::tanh(a));
      default:
        return whole(compare(op, a, b));
    }
  }

  template <typename Number>
  static bool compare(Op op, Number a, Number b) {
    switch (op) {
      case Op::kLess:
        return a < b;
      case Op::kLessEqual:
        return a <= b;
      case Op::kGreater:
        return a > b;
      case Op::kGreaterEqual:
        return a >= b;
      case Op::kEqual:
        return a == b;
      default:
        return a != b;
    }
  }

  Value element(const Node& node) const {
    const TensorView& tensor = tensors_[node.integer];
    int64_t at = 0;
    for (int i = 0; i < node.operand_count; ++i) {
      const int64_t index = values_[node.operands[i]].whole;
      at += std::max<int64_t>(0, std::min(index, tensor.sizes[i] - 1)) * tensor.strides[i];
    }
    if (tensor.dtype == DType::kInt32) return whole(static_cast<const int32_t*>(tensor.data)[at]);
    return real(static_cast<Real>(static_cast<const float*>(tensor.data)[at]));
  }

  const std::vector<Node>& nodes_;
  const std::array<TensorView, 4>& tensors_;
  std::vector<Value> values_;
};

}  // namespace ffpa_jit::modifier
