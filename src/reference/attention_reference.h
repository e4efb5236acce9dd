// What the library computes, in fp64, written once and plainly: the judge of every kernel. Called
// by all tests and by `ffpa-jit run`. Rules: include/ffpa_jit/ffpa_jit.h and docs/semantics.md;
// shares no code with any kernel.
//
// The input is the C ABI's own argument struct with every pointer in host memory (cu_seqlens and
// seqlens_k, block_table, modifier tensors and philox_state too). Valid arguments are a
// precondition, as ffpa_jit_attention_forward checks them; device, stream, family, workspace, o and
// lse are not read. Two meanings that only varlen needs: a mask or bias is [B, H, Nq, Nk] with rows
// and keys counted inside their sequence, and dropout's element index uses Nq = max_seqlen_q, Nk =
// max_seqlen_k.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ffpa_jit/ffpa_jit.h"

namespace ffpa_jit::reference {

struct AttentionResult {
  std::vector<double> o;    // [B, Hq, Nq, Dv], for BNHD too; varlen [Tq, Hq, Dv]
  std::vector<double> lse;  // [B, Hq, Nq], natural log; varlen [Hq, Tq]
};

// Everything in fp64. Uses all cores on large problems.
AttentionResult attention_reference(const ffpa_jit_attention_args& args);

// The plain unfused implementation in Q's dtype that sets the error bar: S and softmax in fp32, P
// rounded to the dtype, P V accumulated in fp32, O rounded to the dtype. Same rules, same dropout
// bits.
AttentionResult plain_attention(const ffpa_jit_attention_args& args);

// args.o and args.lse (host memory) in AttentionResult's order; `lse` is empty when args.lse is
// absent.
AttentionResult read_result(const ffpa_jit_attention_args& args);

// One element of a host tensor; `index` in elements from data.
double read_element(const void* data, int32_t dtype, int64_t index);
// Rounds to nearest even. FP32, FP16, BF16.
void write_element(void* data, int32_t dtype, int64_t index, float value);

}  // namespace ffpa_jit::reference
