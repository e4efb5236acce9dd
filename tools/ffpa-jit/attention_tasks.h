// The usual attention tasks, as FFPA's benchmark names them: what `bench` times and `tune
// --full-tasks` tunes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ffpa-jit/problem_spec.h"

namespace ffpa_jit::cli {

struct AttentionTask {
  std::string_view name;
  void (*shape)(ProblemSpec& spec);  // from plain self-attention of length N
};
std::span<const AttentionTask> attention_tasks();
std::vector<std::string> attention_task_names();

// What a list of tasks is crossed with.
struct TaskGrid {
  std::vector<std::string> tasks;  // empty: all
  std::vector<std::string> dtypes;
  std::vector<int64_t> head_dims, lengths;
  int64_t batch = 1, heads = 8;
  std::string family;
};
struct TaskProblem {
  std::string task;
  ProblemSpec spec;
};
std::vector<TaskProblem> task_problems(const TaskGrid& grid);

}  // namespace ffpa_jit::cli
