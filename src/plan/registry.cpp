// The families of this build, in order of preference. A new family is one line here.
#include <algorithm>
#include <array>

#include "plan/families/mma.h"
#include "plan/families/portable_cpu.h"
#include "plan/families/sdpa_cpu.h"
#include "plan/families/sdpa_cuda.h"
#include "plan/families/wgmma.h"
#include "plan/kernel_family.h"

namespace ffpa_jit {

std::span<const KernelFamily* const> kernel_families() {
  static const std::array<const KernelFamily*, 5> families = {
      &wgmma_family(),    &mma_family(),          &sdpa_cuda_family(),
      &sdpa_cpu_family(), &portable_cpu_family(),
  };
  return families;
}

}  // namespace ffpa_jit
