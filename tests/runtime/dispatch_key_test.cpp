// Two calls that differ in a fact of Problem, device, family or shape class must have different
// keys.
#include "runtime/dispatch_key.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

namespace ffpa_jit {
namespace {

TEST(DispatchKey, EveryFactCounts) {
  const std::vector<std::function<void(AttentionCall&)>> changes = {
      [](AttentionCall&) {},
      [](AttentionCall& c) { c.problem.dtype = DType::kFp32; },
      [](AttentionCall& c) { c.problem.dtype = DType::kFp16; },
      [](AttentionCall& c) { c.problem.head_dim = 65; },
      [](AttentionCall& c) { c.problem.head_dim_v = 65; },
      [](AttentionCall& c) { c.problem.gqa_group = 2; },
      [](AttentionCall& c) { c.problem.gqa_group = 70000; },
      [](AttentionCall& c) { c.problem.layout = Layout::kBnhd; },
      [](AttentionCall& c) { c.problem.layout = Layout::kVarlen; },
      [](AttentionCall& c) { c.problem.causal = true; },
      [](AttentionCall& c) { c.problem.window_left = true; },
      [](AttentionCall& c) { c.problem.window_right = true; },
      [](AttentionCall& c) { c.problem.has_mask = true; },
      [](AttentionCall& c) { c.problem.has_bias = true; },
      [](AttentionCall& c) { c.problem.bias_dtype = DType::kBf16; },
      [](AttentionCall& c) { c.problem.mask_pattern.batch = false; },
      [](AttentionCall& c) { c.problem.mask_pattern.key = false; },
      [](AttentionCall& c) { c.problem.bias_pattern.head = false; },
      [](AttentionCall& c) { c.problem.bias_pattern.query = false; },
      [](AttentionCall& c) { c.problem.dropout = true; },
      [](AttentionCall& c) { c.problem.softcap = true; },
      [](AttentionCall& c) { c.problem.lse = true; },
      [](AttentionCall& c) { c.problem.score_modifier = "score+1.0"; },
      [](AttentionCall& c) { c.problem.score_modifier = "score+2.0"; },
      [](AttentionCall& c) {
        c.problem.score_modifier = "score+t0[b]";
        c.problem.modifier_tensors[0] = {DType::kFp32, 1};
      },
      [](AttentionCall& c) {
        c.problem.score_modifier = "score+t0[b]";
        c.problem.modifier_tensors[0] = {DType::kInt32, 1};
      },
      [](AttentionCall& c) { c.problem.sinks = true; },
      [](AttentionCall& c) { c.problem.seqlens_k = true; },
      [](AttentionCall& c) { c.problem.page_size = 16; },
      [](AttentionCall& c) { c.problem.page_size = 32; },
      [](AttentionCall& c) { c.problem.fp16_accumulate = true; },
      [](AttentionCall& c) { c.device.kind = TargetKind::kCuda; },
      [](AttentionCall& c) { c.device.index = 1; },
      [](AttentionCall& c) { c.family = "sdpa"; },
      [](AttentionCall& c) { c.family = "portable"; },
      [](AttentionCall& c) { c.family = "portable2"; },
      [](AttentionCall& c) { c.shape.seqlen_q = 1; },
      [](AttentionCall& c) { c.shape.seqlen_q = 512; },
      [](AttentionCall& c) { c.shape.seqlen_k = 512; },
      [](AttentionCall& c) { c.shape.batch = 512; },
  };
  std::vector<DispatchKey> keys;
  for (const auto& change : changes) {
    AttentionCall call;
    change(call);
    keys.push_back(dispatch_key(call));
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    for (size_t j = 0; j < keys.size(); ++j) {
      EXPECT_EQ(keys[i] == keys[j], i == j) << "changes " << i << " and " << j;
      if (i != j) {
        EXPECT_NE(DispatchKeyHash{}(keys[i]), DispatchKeyHash{}(keys[j]));
      }
    }
  }
}

TEST(DispatchKey, ShapesOfOneClassAndTensorsShareAKey) {
  AttentionCall a, b;
  a.shape.seqlen_k = 1025;
  b.shape.seqlen_k = 2047;
  b.params.softmax_scale = 0.5f;
  EXPECT_EQ(dispatch_key(a), dispatch_key(b));
}

}  // namespace
}  // namespace ffpa_jit
