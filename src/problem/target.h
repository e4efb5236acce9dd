// Target: what machine code is made for. Canonical text: "cpu:x86-64-v4-bf16", "sm_90a", "gfx942",
// "emu:sm_80".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ffpa_jit {

enum class TargetKind : uint8_t { kCpu, kCuda, kHip, kEmulator };

// For the CPU a level is a closed list, each containing the ones before it:
//   x86-64       SSE2, the baseline of every 64-bit x86
//   x86-64-v3    AVX2, FMA, F16C
//   x86-64-v4    AVX-512 F/BW/CD/DQ/VL
//   x86-64-v4-bf16  and AVX512-BF16 (vdpbf16ps)
//   x86-64-v4-amx   and AMX-TILE, AMX-BF16 (with AVX512-BF16)
struct Target {
  TargetKind kind = TargetKind::kCpu;
  std::string arch = "x86-64";  // without the "cpu:" / "emu:" prefix

  bool operator==(const Target&) const = default;

  // 90 for sm_90 and sm_90a, 120 for sm_120; 0 where the target is not CUDA (emulated CUDA counts).
  int compute_capability() const;
};

std::string text_of(const Target& target);
// Accepts canonical text, and "cpu" for host_cpu_target(). Throws Error INVALID_ARGUMENT with the
// list.
Target parse_target(std::string_view text);

// Every architecture of a kind, without prefix, in ascending order: "x86-64" ...; "sm_75" ...;
// "gfx90a" ... The emulator's list is CUDA's and HIP's together.
std::span<const std::string_view> architectures(TargetKind kind);

// The best level this processor and its operating system offer (CPUID, XGETBV; AMX asks the kernel
// for the tile-data permission once per process). Throws Error UNSUPPORTED on a processor that is
// not x86-64.
Target host_cpu_target();
// The better of the levels that are neither above `limit` (a CPU target) nor above
// host_cpu_target().
Target host_cpu_target_at_most(const Target& limit);

}  // namespace ffpa_jit
