// TensorFacts: what a call's addresses and strides allow, which neither its Problem nor its Shape
// says. Part of the dispatch key, and shown to families when a call is routed.
#pragma once

namespace ffpa_jit {

struct TensorFacts {
  // TMA can address Q, K and V: addresses and strides are multiples of 16 bytes, no stride of
  // several rows, heads or batch entries is zero or negative.
  bool tma = true;
  // The same of the mask and the bias, where there are: keys lie together, addresses and strides of
  // rows, heads and batch entries are multiples of 16 bytes.
  bool marks_tma = true;

  bool operator==(const TensorFacts&) const = default;
};

}  // namespace ffpa_jit
