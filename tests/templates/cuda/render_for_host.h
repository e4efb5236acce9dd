// The text of one step, with templates/cuda/lib/ replaced by tests/templates/cuda/host/cuda/lib/.
#pragma once

#include <string>

#include "plan/plan.h"

namespace ffpa_jit::testing {

std::string render_for_host(const PlanStep& step);

}  // namespace ffpa_jit::testing
