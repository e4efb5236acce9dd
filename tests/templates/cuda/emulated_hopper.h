// The wgmma family on an emulated sm_90.
#pragma once

#include "templates/cuda/emulated_family.h"

namespace ffpa_jit::testing {

class EmulatedHopper : public EmulatedFamily {
 protected:
  EmulatedHopper() : EmulatedFamily("wgmma") {}
};

}  // namespace ffpa_jit::testing
