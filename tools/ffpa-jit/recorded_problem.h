// RecordedProblem: one problem with its sizes, as FFPA_JIT_RECORD writes it: what `tune` tunes and
// hands to its workers.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "ffpa-jit/output.h"
#include "runtime/attention_call.h"

namespace ffpa_jit::cli {

struct RecordedProblem {
  std::string device;  // where it ran: "cuda:0"
  Problem problem;
  Shape shape;
  int64_t window_left = -1, window_right = -1;
  double softcap = 0, dropout = 0;
  std::string family;  // forced by the host; empty: routed
  std::array<std::vector<int64_t>, kMaxModifierTensors> modifier_sizes;
  Json json;  // as recorded

  std::string text() const;  // "b=1 hq=32 hkv=32 nq=8192 nk=8192: forward bf16 ..."
};

RecordedProblem record_of(const AttentionCall& call);
// `where` begins messages ("problems.jsonl:3"). Throws Error INVALID_ARGUMENT.
RecordedProblem parse_record(const Json& json, const std::string& where);
// Distinct lines, in the order of their first appearance. Throws Error IO_ERROR, INVALID_ARGUMENT.
std::vector<RecordedProblem> read_record_file(const std::filesystem::path& path);

// How `total` packed tokens are shared out when such a problem is made anew: the first sequence is
// the longest, the others share the rest. Prefix sums, as cu_seqlens has them.
std::vector<int32_t> sequence_offsets(int64_t batch, int64_t total, int64_t longest);

// Keys that the queries of one sequence see under a window, summed; negative = unlimited.
double visible_pairs(int64_t queries, int64_t keys, int64_t left, int64_t right);
// Floating-point operations of its products, for the visible pairs that causal and windows leave.
double flops_of(const RecordedProblem& problem);

}  // namespace ffpa_jit::cli
