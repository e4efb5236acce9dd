#include "tune/occupancy.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace ffpa_jit {
namespace {

// Of every multiprocessor from sm_75 to sm_121 (CUDA C++ Programming Guide, "Compute
// Capabilities"); the number of threads is 1024 to 2048 by architecture, the largest prunes least.
constexpr int kRegisters = 65536;
constexpr int kRegisterUnit = 256;  // registers are given to a warp in such steps
constexpr int kMaxThreads = 2048;
constexpr int kMaxBlocks = 32;
constexpr int kWarpSize = 32;
constexpr int64_t kReservedShared =
    1024;  // of a block, for the system; a multiprocessor has one block's limit and this

// Fewer resident warps than this part of the default's have nothing to hide latency with.
constexpr int kLeastPart = 4;

int round_up(int value, int to) { return (value + to - 1) / to * to; }

int sum_of_spills(const Built& built) {
  int bytes = 0;
  for (const BuiltStep& step : built.steps) {
    bytes += std::max(step.resources.spill_bytes, 0) + std::max(step.resources.local_bytes, 0);
  }
  return bytes;
}

}  // namespace

int resident_warps(const BuiltStep& step, const DeviceInfo& device) {
  const int warps = static_cast<int>((step.threads + kWarpSize - 1) / kWarpSize);
  if (warps == 0) return 0;
  int64_t blocks = std::min<int64_t>(kMaxBlocks, kMaxThreads / (warps * kWarpSize));
  if (step.resources.registers > 0) {
    blocks = std::min<int64_t>(
        blocks,
        kRegisters / (round_up(step.resources.registers * kWarpSize, kRegisterUnit) * warps));
  }
  const int64_t shared =
      std::max<int64_t>(step.resources.static_shared_bytes, 0) + step.dynamic_shared_bytes;
  if (device.shared_bytes_per_block > 0) {
    if (shared > device.shared_bytes_per_block) return 0;
    blocks = std::min(
        blocks, (device.shared_bytes_per_block + kReservedShared) / (shared + kReservedShared));
  }
  return static_cast<int>(blocks) * warps;
}

std::optional<std::string> prune_reason(const Built& candidate, const Built& usual,
                                        const DeviceInfo& device) {
  // A default that spills is a fact of the problem; a candidate may not spill more.
  const int spills = sum_of_spills(candidate);
  if (spills > sum_of_spills(usual)) {
    return fmt::format("its threads spill to {} bytes of local memory", spills);
  }
  if (device.target.compute_capability() == 0) return std::nullopt;
  for (size_t i = 0; i < candidate.steps.size(); ++i) {
    const BuiltStep& step = candidate.steps[i];
    const int warps = resident_warps(step, device);
    if (warps == 0) {
      return fmt::format(
          "a block's {} registers a thread and {} bytes of shared memory do not fit a "
          "multiprocessor",
          step.resources.registers,
          std::max<int64_t>(step.resources.static_shared_bytes, 0) + step.dynamic_shared_bytes);
    }
    if (i >= usual.steps.size()) continue;
    const int least = resident_warps(usual.steps[i], device) / kLeastPart;
    if (warps < least) {
      return fmt::format("{} warps fit a multiprocessor, of the default config {}", warps,
                         least * kLeastPart);
    }
  }
  return std::nullopt;
}

}  // namespace ffpa_jit
