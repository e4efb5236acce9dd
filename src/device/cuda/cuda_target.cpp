#include "device/cuda/cuda_target.h"

#include "base/error.h"

namespace ffpa_jit {
namespace {

struct Row {
  int major, minor;
  const char* exact;     // for this very chip
  const char* portable;  // for this and later minors of the major version
};

constexpr Row kTargets[] = {
    {7, 5, "sm_75", "sm_75"},     {8, 0, "sm_80", "sm_80"},     {8, 6, "sm_86", "sm_86"},
    {8, 7, "sm_87", "sm_87"},     {8, 8, "sm_88", "sm_88"},     {8, 9, "sm_89", "sm_89"},
    {9, 0, "sm_90a", "sm_90"},    {10, 0, "sm_100a", "sm_100"}, {10, 3, "sm_103a", "sm_103"},
    {11, 0, "sm_110a", "sm_110"}, {12, 0, "sm_120a", "sm_120"}, {12, 1, "sm_121a", "sm_121"},
};

}  // namespace

Target cuda_target(int major, int minor) {
  const Row* best = nullptr;
  for (const Row& row : kTargets) {
    if (row.major == major && row.minor <= minor) best = &row;
  }
  if (!best) {
    throw_error(
        FFPA_JIT_UNSUPPORTED,
        "the device has compute capability {}.{}; this version of the library knows 7.5, 8.x, 9.x, "
        "10.x, 11.x and 12.x; {}",
        major, minor,
        major > 12 ? "update the library" : "use a GPU from the Turing generation on, or the CPU");
  }
  return {TargetKind::kCuda, best->minor == minor ? best->exact : best->portable};
}

}  // namespace ffpa_jit
