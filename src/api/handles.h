// The opaque types of the C ABI.
#pragma once

#include <memory>
#include <string>

#include "ffpa_jit/ffpa_jit.h"
#include "runtime/runtime.h"

struct ffpa_jit_runtime {
  ffpa_jit::Runtime runtime;
};

struct ffpa_jit_plan {
  std::shared_ptr<const ffpa_jit::PreparedPlan> prepared;
  size_t workspace_bytes = 0;  // for the shape it was prepared with
  // What ffpa_jit_plan_info points at.
  std::string device, target, family, route, config, problem;
};
