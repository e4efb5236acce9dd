#include "runtime/dispatch_key.h"

#include "runtime/tensor_facts.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ffpa_jit {
namespace {

uint32_t bits_of(const BroadcastPattern& pattern) {
  return uint32_t{pattern.batch} | uint32_t{pattern.head} << 1 | uint32_t{pattern.query} << 2 |
         uint32_t{pattern.key} << 3;
}

}  // namespace

DispatchKey dispatch_key(const AttentionCall& call) {
  const Problem& p = call.problem;
  DispatchKey key;
  key.facts = static_cast<uint32_t>(p.direction) | static_cast<uint32_t>(p.dtype) << 2 |
              static_cast<uint32_t>(p.layout) << 6 | static_cast<uint32_t>(p.bias_dtype) << 9 |
              uint32_t{p.causal} << 13 | uint32_t{p.window_left} << 14 |
              uint32_t{p.window_right} << 15 | uint32_t{p.has_mask} << 16 |
              uint32_t{p.has_bias} << 17 | uint32_t{p.dropout} << 18 | uint32_t{p.softcap} << 19 |
              uint32_t{p.lse} << 20 | uint32_t{p.sinks} << 21 | uint32_t{p.seqlens_k} << 22 |
              uint32_t{p.fp16_accumulate} << 23;
  key.patterns = bits_of(p.mask_pattern) | bits_of(p.bias_pattern) << 4;
  key.gqa_group = static_cast<uint32_t>(p.gqa_group);
  key.head_dim = static_cast<uint16_t>(p.head_dim);
  key.head_dim_v = static_cast<uint16_t>(p.head_dim_v);
  key.device_kind = static_cast<uint16_t>(call.device.kind);
  key.device_index = static_cast<uint16_t>(call.device.index);
  const TensorFacts tensors = tensor_facts(call);
  key.facts |= uint32_t{tensors.tma} << 31 | uint32_t{tensors.marks_tma} << 30;
  key.shape = shape_class(call.shape);
  key.page_size = static_cast<uint32_t>(p.page_size);
  if (!p.score_modifier.empty()) {
    const XXH128_hash_t hash = XXH3_128bits(p.score_modifier.data(), p.score_modifier.size());
    key.modifier[0] = hash.low64;
    key.modifier[1] = hash.high64;
    for (int i = 0; i < kMaxModifierTensors; ++i) {
      const ModifierTensor& tensor = p.modifier_tensors[i];
      key.modifier_tensors |=
          (static_cast<uint32_t>(tensor.dtype) << 3 | static_cast<uint32_t>(tensor.rank))
          << (8 * i);
    }
  }
  if (!call.family.empty()) key.family = XXH3_64bits(call.family.data(), call.family.size());
  return key;
}

size_t DispatchKeyHash::operator()(const DispatchKey& key) const noexcept {
  return XXH3_64bits(&key, sizeof(key));
}

}  // namespace ffpa_jit
