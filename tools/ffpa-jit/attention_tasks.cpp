#include "ffpa-jit/attention_tasks.h"

#include <algorithm>
#include <array>

namespace ffpa_jit::cli {
namespace {

constexpr std::array<AttentionTask, 8> kTasks = {{
    {"self-attn", [](ProblemSpec&) {}},
    {"cross-attn", [](ProblemSpec& s) { s.seqlen_q = std::max<int64_t>(1, s.seqlen_q / 4); }},
    {"decode-attn", [](ProblemSpec& s) { s.seqlen_q = 1; }},
    {"gqa", [](ProblemSpec& s) { s.kv_heads = s.heads % 4 == 0 ? s.heads / 4 : 1; }},
    {"causal", [](ProblemSpec& s) { s.causal = true; }},
    {"attn-mask", [](ProblemSpec& s) { s.mask = parse_mask("bool:11qk"); }},
    {"dropout", [](ProblemSpec& s) { s.dropout = 0.1; }},
    {"non-aligned",
     [](ProblemSpec& s) { s.seqlen_q = s.seqlen_k = std::max<int64_t>(1, s.seqlen_k - 13); }},
}};

}  // namespace

std::span<const AttentionTask> attention_tasks() { return kTasks; }

std::vector<std::string> attention_task_names() {
  std::vector<std::string> names;
  for (const AttentionTask& task : kTasks) names.emplace_back(task.name);
  return names;
}

std::vector<TaskProblem> task_problems(const TaskGrid& grid) {
  std::vector<TaskProblem> out;
  for (const AttentionTask& task : kTasks) {
    if (!grid.tasks.empty() &&
        std::find(grid.tasks.begin(), grid.tasks.end(), task.name) == grid.tasks.end()) {
      continue;
    }
    for (const std::string& dtype : grid.dtypes) {
      for (const int64_t head_dim : grid.head_dims) {
        for (const int64_t length : grid.lengths) {
          TaskProblem each{std::string(task.name), {}};
          each.spec.dtype = dtype_of(dtype).value();
          each.spec.batch = grid.batch;
          each.spec.heads = grid.heads;
          each.spec.head_dim = head_dim;
          each.spec.seqlen_q = each.spec.seqlen_k = length;
          each.spec.family = grid.family;
          task.shape(each.spec);
          out.push_back(std::move(each));
        }
      }
    }
  }
  return out;
}

}  // namespace ffpa_jit::cli
