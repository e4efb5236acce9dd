// What `ffpa-jit tune` was asked to do, and what that is for this process: which devices, which
// problems.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ffpa-jit/attention_tasks.h"
#include "ffpa-jit/recorded_problem.h"
#include "tune/ranks.h"

namespace ffpa_jit::cli {

struct TuneOptions {
  std::string device, gpus;
  ProblemFlags problem;
  std::vector<std::filesystem::path> from;
  bool full_tasks = false;
  TaskGrid grid{{},
                {"bf16"},
                {64, 128, 192, 256, 320, 384, 512, 640, 768, 1024},
                {1024, 2048, 4096, 8192, 16384},
                1,
                32,
                ""};
  std::vector<std::string> families;
  std::string mode = "fast";
  bool overwrite = false, list = false;
  double budget_s = 0;
  size_t max_candidates = 0;
  double run_limit_s = 20;
  int jobs = 0, threads = 0;
  std::filesystem::path report, export_file;
};

// One problem for one family.
struct TuneTask {
  RecordedProblem problem;
  std::string family;  // empty: routed
};

// This rank's devices. Throws Error NO_DEVICE, INVALID_ARGUMENT.
std::vector<DeviceRef> tuned_devices(const TuneOptions& options, const Ranks& ranks);
// This rank's tasks: distinct by what a tuning is kept for.
std::vector<TuneTask> tuned_tasks(const TuneOptions& options, const DeviceRef& device,
                                  const Ranks& ranks);

}  // namespace ffpa_jit::cli
