// PreparedPlan: a plan with its kernels loaded on a device: everything a call needs but its
// tensors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "plan/plan.h"

namespace ffpa_jit {

struct PreparedPlan {
  Problem problem;
  Plan plan;                                           // no steps when `to_host_fallback`
  bool to_host_fallback = false;                       // the host's callback serves
  std::string rule;                                    // routing rule that applied
  std::string reason;                                  // in words
  std::shared_ptr<Device> device;                      // keeps the kernels' device alive
  std::vector<std::unique_ptr<LoadedKernel>> kernels;  // one per step

  bool cache_hit = true;  // every kernel came from the cache (built-in kernels count)
  double generate_ms = 0;
  double compile_ms = 0;
  double load_ms = 0;
  int spill_bytes = 0;  // of all steps' threads, where the compiler reports it
};

}  // namespace ffpa_jit
