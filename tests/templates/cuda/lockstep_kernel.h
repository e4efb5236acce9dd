// A rendered CUDA kernel compiled for the host and run in lock step (lockstep.h): what CI checks of
// a CUDA template on a machine with no GPU.
#pragma once

#include <memory>
#include <string>

#include "base/dynamic_library.h"
#include "device/device.h"
#include "kernel/params.h"
#include "plan/plan.h"

namespace ffpa_jit::testing {

class LockstepKernel {
 public:
  // Renders `step` with the host's instruction wrappers and compiles it. Throws Error with the
  // compiler's words.
  explicit LockstepKernel(const PlanStep& step);

  // False when threads wait for each other for ever.
  bool run(const ForwardParams& params, const LaunchGeometry& geometry, bool reversed) const;

 private:
  std::unique_ptr<DynamicLibrary> library_;
};

}  // namespace ffpa_jit::testing
