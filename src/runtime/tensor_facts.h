// What a call's addresses and strides allow.
#pragma once

#include "problem/tensor_facts.h"
#include "runtime/attention_call.h"

namespace ffpa_jit {

TensorFacts tensor_facts(const AttentionCall& call) noexcept;

}  // namespace ffpa_jit
