// LocalWorkbench: candidates of one call built and run in this process, on the call's own tensors;
// its outputs go to memory of their own, so that the caller's stay as they are. Used for tuning at
// run time, and inside the worker processes of `ffpa-jit tune`.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/runtime.h"
#include "tune/tuner.h"
#include "tune/workbench.h"

namespace ffpa_jit {

struct LocalWorkbenchOptions {
  int jobs = 0;             // compiles at a time; 0: one per core
  double sample_us = 2000;  // a sample is of as many launches as take this long
};

// What the store keeps of a finished tuning of `call`.
Tuning tuning_row(std::string_view family, const AttentionCall& call, const DeviceInfo& device,
                  const TuneResult& result);

class LocalWorkbench final : public Workbench {
 public:
  // `call` has its tensors; `family` serves it.
  LocalWorkbench(Runtime& runtime, const AttentionCall& call, const KernelFamily& family,
                 LocalWorkbenchOptions options = {});
  ~LocalWorkbench() override;
  LocalWorkbench(const LocalWorkbench&) = delete;
  LocalWorkbench& operator=(const LocalWorkbench&) = delete;

  const DeviceInfo& device() const override { return device_->info(); }
  std::vector<Built> build(std::span<const KernelConfig> configs) override;
  std::string check(const KernelConfig& config) override;
  double time_us(const KernelConfig& config) override;

 private:
  struct Output;  // O or LSE

  void release() noexcept;
  Built build_one(const KernelConfig& config);
  const PreparedPlan& prepared(const KernelConfig& config);
  std::vector<std::vector<std::byte>> run(const KernelConfig& config);

  Runtime& runtime_;
  AttentionCall call_;
  const KernelFamily& family_;
  LocalWorkbenchOptions options_;
  std::shared_ptr<Device> device_;
  std::vector<Output> outputs_;
  std::map<std::string, std::shared_ptr<const PreparedPlan>> prepared_;
  std::string first_;                             // the config that the others are compared with
  std::vector<std::vector<std::byte>> expected_;  // its outputs
  void* evictor_ = nullptr;  // written before each launch, where tensors may fit a cache
  int launches_ = 0;         // of a sample
};

}  // namespace ffpa_jit
