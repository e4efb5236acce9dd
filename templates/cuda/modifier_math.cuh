// What common/score_modifier.h.j2 computes with, on CUDA: a score, an index or a condition of one thread. The including
// template has included cuda/lib/arithmetic.cuh.
//% set uses = modifier.functions
//% if "sqrt" in uses or "floor" in uses
//% include "cuda/lib/round_root.cuh"
//% endif

namespace modifier {

typedef float Float;
typedef int Int;
typedef bool Bool;

FFPA_DEVICE Float number(float value) { return value; }
FFPA_DEVICE Int integer(int value) { return value; }
FFPA_DEVICE Float infinity() { return __builtin_bit_cast(float, 0x7f800000u); }
//% if "to_float" in uses
FFPA_DEVICE Float to_float(Int a) { return (float)a; }
//% endif
//% if "to_int" in uses
// Toward zero; what does not fit is the nearest that does, NaN is 0.
FFPA_DEVICE Int to_int(Float a) {
  return a != a ? 0 : a >= 2147483648.0f ? 2147483647 : a <= -2147483648.0f ? -2147483647 - 1 : (int)a;
}
//% endif
//% if "negate" in uses
FFPA_DEVICE Float negate(Float a) { return -a; }
FFPA_DEVICE Int negate(Int a) { return (int)(0u - (unsigned)a); }
//% endif
//% for name, sign in [["add", "+"], ["subtract", "-"], ["multiply", "*"]]
//% if name in uses
FFPA_DEVICE Float {{ name }}(Float a, Float b) { return a {{ sign }} b; }
FFPA_DEVICE Int {{ name }}(Int a, Int b) { return (int)((unsigned)a {{ sign }} (unsigned)b); }
//% endif
//% endfor
//% if "divide" in uses
FFPA_DEVICE Float divide(Float a, Float b) { return a / b; }
//% endif
//% if "floor_divide" in uses or "modulo" in uses
// Towards minus infinity; by 0 it is 0.
FFPA_DEVICE Int floor_divide(Int a, Int b) {
  if (b == 0) return 0;
  if (b == -1) return (int)(0u - (unsigned)a);
  const int quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
//% endif
//% if "modulo" in uses
FFPA_DEVICE Int modulo(Int a, Int b) {
  return b == 0 ? 0 : (int)((unsigned)a - (unsigned)floor_divide(a, b) * (unsigned)b);
}
//% endif
//% for name, sign in [["less", "<"], ["less_equal", "<="], ["greater", ">"], ["greater_equal", ">="], ["equal", "=="], ["not_equal", "!="]]
//% if name in uses
template <typename Value>
FFPA_DEVICE Bool {{ name }}(Value a, Value b) { return a {{ sign }} b; }
//% endif
//% endfor
//% if "logical_not" in uses
FFPA_DEVICE Bool logical_not(Bool a) { return !a; }
//% endif
//% if "logical_and" in uses
FFPA_DEVICE Bool logical_and(Bool a, Bool b) { return a && b; }
//% endif
//% if "logical_or" in uses
FFPA_DEVICE Bool logical_or(Bool a, Bool b) { return a || b; }
//% endif
//% if "select" in uses
template <typename Value>
FFPA_DEVICE Value select(Bool condition, Value yes, Value no) { return condition ? yes : no; }
//% endif
//% if "abs" in uses
FFPA_DEVICE Float abs(Float a) { return __builtin_bit_cast(float, __builtin_bit_cast(int, a) & 0x7fffffff); }
FFPA_DEVICE Int abs(Int a) { return a < 0 ? (int)(0u - (unsigned)a) : a; }
//% endif
//% for name, sign in [["min", "<"], ["max", ">"]]
//% if name in uses
template <typename Value>
FFPA_DEVICE Value {{ name }}(Value a, Value b) { return a {{ sign }} b ? a : b; }
//% endif
//% endfor
//% if "floor" in uses
FFPA_DEVICE Float floor(Float a) { return cvt_rmi_f32(a); }
//% endif
//% if "sqrt" in uses
FFPA_DEVICE Float sqrt(Float a) { return sqrt_rn(a); }
//% endif
//% if "exp2" in uses or "exp" in uses
FFPA_DEVICE Float exp2(Float a) { return exp2f(a); }
//% endif
//% if "exp" in uses
// 2^(a log2 e), with the part of the product that rounding loses put back.
FFPA_DEVICE Float exp(Float a) {
  const float clamped = a < -200.0f ? -200.0f : a > 200.0f ? 200.0f : a;
  const float high = clamped * 1.4426950408889634f;
  const float low = fma_rn(clamped, 1.925963033500e-8f, fma_rn(clamped, 1.4426950408889634f, -high));
  const float power = exp2f(high);
  return power == infinity() ? power : fma_rn(power, low * 0.693147180559945f, power);
}
//% endif
//% if "log" in uses
FFPA_DEVICE Float log(Float a) { return logf(a); }
//% endif
//% if "log2" in uses
// Exact where `a` is a power of two: the exponent, and the logarithm of a mantissa in [sqrt(1/2), sqrt(2)).
FFPA_DEVICE Float log2(Float a) {
  const int biased = __builtin_bit_cast(int, a) - 0x3f3504f3;
  const bool usual = a >= 1.17549435e-38f && a <= 3.402823466e38f;
  const float mantissa = usual ? __builtin_bit_cast(float, (biased & 0x7fffff) + 0x3f3504f3) : a;
  const float exponent = usual ? (float)(biased >> 23) : 0.0f;
  return fma_rn(logf(mantissa), 1.4426950408889634f, exponent);
}
//% endif
//% if "tanh" in uses
FFPA_DEVICE Float tanh(Float a) { return tanhf(a); }
//% endif
//% if "float_element" in uses or "int_element" in uses

// Each index is clamped into its dimension.
template <typename... Index>
FFPA_DEVICE long long element_of(const ModifierTensorParams& tensor, Index... index) {
  const int indices[] = {index...};
  long long at = 0;
#pragma unroll
  for (int i = 0; i < (int)sizeof...(Index); ++i) {
    const int last = tensor.sizes[i] - 1;
    const int inside = indices[i] < last ? indices[i] : last;
    at += (inside > 0 ? inside : 0) * tensor.strides[i];
  }
  return at;
}
template <typename... Index>
FFPA_DEVICE Float float_element(const ModifierTensorParams& tensor, Index... index) {
  return ((const float*)tensor.data)[element_of(tensor, index...)];
}
template <typename... Index>
FFPA_DEVICE Int int_element(const ModifierTensorParams& tensor, Index... index) {
  return ((const int*)tensor.data)[element_of(tensor, index...)];
}
//% endif

}  // namespace modifier
