// Workers: a Workbench in a child process. RemoteWorkbench is the tuner's side: a candidate that
// crashes or hangs takes its worker along and nothing else, the next request starts a new one.
// serve_worker() is the child's side, around any other Workbench.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tune/child_process.h"
#include "tune/workbench.h"

namespace ffpa_jit {

using WorkerJson = nlohmann::ordered_json;

// Answers requests on `channel` until its other end closes. `open` makes the workbench of a task;
// what it and the workbench throw becomes an answer. Returns the exit status.
int serve_worker(int channel,
                 const std::function<std::unique_ptr<Workbench>(const WorkerJson& task)>& open);

struct WorkerLimits {
  std::chrono::milliseconds open{120'000};
  std::chrono::milliseconds build{150'000};  // of each config, and of each batch beside
  std::chrono::milliseconds run{20'000};     // of a check, or of a sample
  int restarts = 32;                         // per task
};

class RemoteWorkbench final : public Workbench {
 public:
  // `argv`: the worker's command line. `task` is passed to its `open`. Throws Error when the worker
  // cannot open it.
  RemoteWorkbench(std::vector<std::string> argv, WorkerJson task, WorkerLimits limits = {});

  // Goes on with another task, in the same process where it lives.
  void reopen(WorkerJson task);

  const DeviceInfo& device() const override { return device_; }
  std::vector<Built> build(std::span<const KernelConfig> configs) override;
  std::string check(const KernelConfig& config) override;
  double time_us(const KernelConfig& config) override;

  // Workers started anew for this task.
  int restarts() const { return restarts_; }

 private:
  WorkerJson ask(const WorkerJson& request, std::chrono::milliseconds limit);
  WorkerJson ask_child(const WorkerJson& request, std::chrono::milliseconds limit);
  void start();  // a new worker
  void open();

  std::vector<std::string> argv_;
  WorkerJson task_;
  WorkerLimits limits_;
  DeviceInfo device_;
  std::unique_ptr<ChildProcess> child_;
  std::optional<KernelConfig> first_;  // what a new worker compares with
  int restarts_ = 0;
};

}  // namespace ffpa_jit
