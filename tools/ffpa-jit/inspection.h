// What the library would do for a call, without compiling or running anything: explain, source and
// every --dry-run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ffpa-jit/host_problem.h"
#include "ffpa-jit/output.h"
#include "ffpa-jit/session.h"
#include "runtime/planner.h"

namespace ffpa_jit::cli {

struct Inspection {
  Problem problem;
  Shape shape;
  DeviceInfo device;
  PlannedAttention planned;
  std::string family, config;
  std::vector<std::string> keys;  // of each step's kernel in the cache; "" for a built-in kernel
  bool cached = true;             // every kernel is

  Json json() const;
};

Inspection inspect(const ffpa::Runtime& runtime, const AttentionCall& call,
                   const DeviceInfo& device);
// On the call's own device. Throws Error NO_DEVICE.
Inspection inspect(const ffpa::Runtime& runtime, const ffpa_jit_attention_args& args);

// A HostProblem without memory.
std::unique_ptr<HostProblem> describe_problem(const ProblemSpec& spec, const DeviceRef& device);

}  // namespace ffpa_jit::cli
