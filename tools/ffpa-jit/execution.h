// One problem through the public library: prepared, run, timed.
#pragma once

#include <set>
#include <string>

#include "ffpa-jit/on_device.h"
#include "ffpa-jit/output.h"

namespace ffpa_jit::cli {

struct Execution {
  Execution() = default;
  explicit Execution(const ffpa_jit_plan_info& info);  // without its times

  std::string device, target, family, route, reason, config, problem;
  bool cache_hit = false;
  size_t workspace_bytes = 0;
  double generate_ms = 0, compile_ms = 0, load_ms = 0;
  double run_ms = 0;  // median over the repeats
  int repeats = 0;

  Json json() const;  // device ... timings_ms
};

// Runs problems on one Runtime.
class Executor {
 public:
  explicit Executor(ffpa::Runtime& runtime) : runtime_(runtime) {}

  // Poisons the outputs before each of `repeats` runs (at least 1); O and LSE are in the
  // HostProblem afterwards.
  Execution execute(OnDevice& problem, int repeats);

 private:
  Execution prepare(const OnDevice& problem);

  ffpa::Runtime& runtime_;
  std::set<std::string> prepared_;  // plans made so far
};

// The device that OnDevice copies to: null for the CPU. Throws Error NO_DEVICE.
std::shared_ptr<Device> copying_device(const ffpa::Runtime& runtime, const DeviceRef& device);

// Floating-point operations of the forward pass: 4 * D per visible (query, key) pair of a head,
// counted from causal and window (masks are not looked at); (2 * D + 2 * Dv) where the dims differ.
double forward_flops(const ffpa_jit_attention_args& host_args);

}  // namespace ffpa_jit::cli
