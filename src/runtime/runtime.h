// Runtime: one instance of the whole line. Owns the cache, the compilers, the devices it has opened
// and the plans it has made. Thread-safe.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "cache/store.h"
#include "codegen/template_engine.h"
#include "compile/compiler.h"
#include "policy/environment.h"
#include "runtime/attention_call.h"
#include "runtime/device_set.h"
#include "runtime/dispatch_key.h"
#include "runtime/kernel_provider.h"
#include "runtime/planner.h"
#include "runtime/prepared_plan.h"
#include "runtime/problem_record.h"
#include "runtime/single_flight.h"
#include "runtime/tensor_map_cache.h"

namespace ffpa_jit {

// Serves a call that routing sends to the host; `args` is the caller's own struct.
using HostFallback = std::function<ffpa_jit_status(const void* args, const std::string& reason)>;

struct RuntimeOptions {
  Environment environment;  // what the caller did not set is read from here
  StoreOptions store;
  std::filesystem::path template_dir;
  Policy policy = Policy::kNative;
  int num_threads = 0;
  std::chrono::milliseconds compile_time_limit{120'000};
  Logger log;
  HostFallback host_fallback;  // empty: the `sdpa` family
  std::optional<TuneMode>
      autotune;  // what a problem without a tuning does at its first call; unset: nothing
};

class Runtime {
 public:
  explicit Runtime(RuntimeOptions options);

  // Everything ahead of the launch. Throws what planning, compiling and loading throw.
  std::shared_ptr<const PreparedPlan> prepare(const AttentionCall& call);
  // prepare() if needed, then launch on the call's stream.
  void forward(const AttentionCall& call);

  // For tuning: one family's plan with this very config, made anew on each call; and a launch of
  // it.
  std::shared_ptr<const PreparedPlan> prepare_config(const AttentionCall& call,
                                                     const KernelFamily& family,
                                                     const KernelConfig& config);
  void launch(const PreparedPlan& prepared, const AttentionCall& call);

  // For inspection (the command line).
  const RuntimeOptions& options() const { return options_; }
  Store& store() { return *store_; }
  CompilerSet& compilers() { return *compilers_; }
  const Planner& planner() const { return planner_; }
  KernelProvider& kernels() { return kernels_; }
  const codegen::TemplateEngine& templates() const { return *templates_; }
  DeviceSet& devices() { return devices_; }
  TunedConfigs& tuned_configs() { return *tuned_; }

 private:
  std::shared_ptr<const PreparedPlan> make_plan(const AttentionCall& call);
  // Loads every step's kernel of `planned`; throws NO_COMPILER when one is neither cached nor
  // compilable.
  void load_steps(PlannedAttention planned, PreparedPlan& prepared);
  // load_steps() for a plan whose config is a tuned one. False: that config does not hold here
  // today (it does not compile, spills, or cannot be had without a compiler), and the default is to
  // serve.
  bool load_tuned(PlannedAttention planned, PreparedPlan& prepared);
  // Tunes the call's problem when it was never tuned, on the call's own tensors. Fails no call.
  void autotune(const AttentionCall& call, const PlanRequest& request);

  RuntimeOptions options_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<CompilerSet> compilers_;
  std::shared_ptr<const codegen::TemplateEngine> templates_;
  std::shared_ptr<TunedConfigs> tuned_;
  Planner planner_;
  KernelProvider kernels_;
  DeviceSet devices_;
  TensorMapCache tensor_maps_;
  ProblemRecord record_;
  SingleFlight<DispatchKey, PreparedPlan, DispatchKeyHash> plans_;
};

}  // namespace ffpa_jit
