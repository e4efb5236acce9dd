// Runtime: one instance of the whole line. Owns the cache, the compilers, the devices it has opened and the plans it has
// made. Thread-safe.
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
};

class Runtime {
 public:
  explicit Runtime(RuntimeOptions options);

  // Everything ahead of the launch. Throws what planning, compiling and loading throw.
  std::shared_ptr<const PreparedPlan> prepare(const AttentionCall& call);
  // prepare() if needed, then launch on the call's stream.
  void forward(const AttentionCall& call);

  // For inspection (the command line).
  const RuntimeOptions& options() const { return options_; }
  Store& store() { return *store_; }
  CompilerSet& compilers() { return *compilers_; }
  const Planner& planner() const { return planner_; }
  KernelProvider& kernels() { return kernels_; }
  const codegen::TemplateEngine& templates() const { return *templates_; }
  DeviceSet& devices() { return devices_; }

 private:
  std::shared_ptr<const PreparedPlan> make_plan(const AttentionCall& call);
  // Loads every step's kernel of `planned`; throws NO_COMPILER when one is neither cached nor compilable.
  void load_steps(PlannedAttention planned, PreparedPlan& prepared);
  void launch(const PreparedPlan& prepared, const AttentionCall& call);

  RuntimeOptions options_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<CompilerSet> compilers_;
  std::shared_ptr<const codegen::TemplateEngine> templates_;
  Planner planner_;
  KernelProvider kernels_;
  DeviceSet devices_;
  TensorMapCache tensor_maps_;
  SingleFlight<DispatchKey, PreparedPlan, DispatchKeyHash> plans_;
};

}  // namespace ffpa_jit
