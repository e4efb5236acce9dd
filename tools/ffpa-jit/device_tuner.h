// DeviceTuner: the part of `ffpa-jit tune` that one device does: a worker process, and the
// decisions about what it measures.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ffpa-jit/session.h"
#include "ffpa-jit/tune_outcome.h"
#include "ffpa-jit/tune_tasks.h"
#include "tune/worker.h"

namespace ffpa_jit::cli {

class DeviceTuner {
 public:
  // `jobs`: kernels compiled at a time. `show` is told what is going on.
  DeviceTuner(const Session& session, const TuneOptions& options, const ffpa::Runtime& runtime,
              const DeviceRef& ref, int jobs, std::function<void(const std::string&)> show);

  // Never throws for one problem: a failure is an outcome. The result is in the cache when this
  // returns.
  TuneOutcome tune(const TuneTask& task);

 private:
  const KernelFamily& family_of(const TuneTask& task, const Shape& shape) const;
  void tune(const TuneTask& task, TuneOutcome& out);
  void measure(const TuneTask& task, const KernelFamily& family,
               const std::vector<KernelConfig>& configs, TuneOutcome& out);
  RemoteWorkbench& opened(const WorkerJson& request);

  const Session& session_;
  const TuneOptions& options_;
  Runtime& runtime_;
  DeviceRef ref_;
  int jobs_;
  std::function<void(const std::string&)> show_;
  DeviceInfo device_;
  std::unique_ptr<RemoteWorkbench> bench_;
};

}  // namespace ffpa_jit::cli
