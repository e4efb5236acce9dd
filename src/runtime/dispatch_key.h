// DispatchKey: the Problem, the shape's class, the device and the forced family, packed into plain
// bytes that are compared and hashed as bytes: what a warm call looks up.
#pragma once

#include <cstdint>
#include <cstring>

#include "plan/shape_class.h"
#include "problem/problem.h"
#include "runtime/attention_call.h"

namespace ffpa_jit {

struct DispatchKey {
  uint32_t facts = 0;     // one bit per boolean of Problem, and its small enums
  uint32_t patterns = 0;  // broadcast patterns of mask and bias
  uint32_t gqa_group = 0;
  uint16_t head_dim = 0;
  uint16_t head_dim_v = 0;
  uint16_t device_kind = 0;
  uint16_t device_index = 0;
  ShapeClass shape;
  uint8_t reserved = 0;
  uint32_t page_size = 0;
  uint32_t modifier_tensors = 0;  // their types and ranks
  uint64_t family = 0;            // hash of the forced family's name, 0 when routed
  uint64_t modifier[2] = {};      // 128-bit hash of the score modifier, 0 when none

  bool operator==(const DispatchKey& other) const noexcept {
    return std::memcmp(this, &other, sizeof(*this)) == 0;
  }
};
static_assert(sizeof(DispatchKey) == 56, "no padding: the key is compared as bytes");

DispatchKey dispatch_key(const AttentionCall& call);

struct DispatchKeyHash {
  size_t operator()(const DispatchKey& key) const noexcept;
};

}  // namespace ffpa_jit
