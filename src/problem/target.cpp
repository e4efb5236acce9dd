#include "problem/target.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "problem/canonical_text.h"

namespace ffpa_jit {
namespace {

// "a": features of exactly this chip; "f": of its family, forward compatible within it (PTX ISA,
// .target).
constexpr std::array<std::string_view, 23> kCuda = {
    "sm_75",   "sm_80",   "sm_86",   "sm_87",   "sm_88",   "sm_89",   "sm_90",  "sm_90a",
    "sm_100",  "sm_100f", "sm_100a", "sm_103",  "sm_103f", "sm_103a", "sm_110", "sm_110f",
    "sm_110a", "sm_120",  "sm_120f", "sm_120a", "sm_121",  "sm_121f", "sm_121a"};
constexpr std::array<std::string_view, 5> kHip = {"gfx90a", "gfx942", "gfx950", "gfx1100",
                                                  "gfx1201"};
constexpr std::array<std::string_view, 5> kCpu = {"x86-64", "x86-64-v3", "x86-64-v4",
                                                  "x86-64-v4-bf16", "x86-64-v4-amx"};

constexpr auto kEmulated = [] {
  std::array<std::string_view, kCuda.size() + kHip.size()> all;
  std::copy(kHip.begin(), kHip.end(), std::copy(kCuda.begin(), kCuda.end(), all.begin()));
  return all;
}();

std::string_view prefix_of(TargetKind kind) {
  switch (kind) {
    case TargetKind::kCpu:
      return "cpu:";
    case TargetKind::kEmulator:
      return "emu:";
    case TargetKind::kCuda:
    case TargetKind::kHip:
      break;
  }
  return "";
}

bool contains(std::span<const std::string_view> list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

std::span<const std::string_view> architectures(TargetKind kind) {
  switch (kind) {
    case TargetKind::kCpu:
      return kCpu;
    case TargetKind::kCuda:
      return kCuda;
    case TargetKind::kHip:
      return kHip;
    case TargetKind::kEmulator:
      return kEmulated;
  }
  return {};
}

int Target::compute_capability() const {
  constexpr std::string_view kPrefix = "sm_";
  if ((kind != TargetKind::kCuda && kind != TargetKind::kEmulator) || !arch.starts_with(kPrefix))
    return 0;
  int capability = 0;
  for (char c : std::string_view(arch).substr(kPrefix.size())) {
    if (c < '0' || c > '9') break;
    capability = 10 * capability + (c - '0');
  }
  return capability;
}

std::string text_of(const Target& target) {
  return std::string(prefix_of(target.kind)) + target.arch;
}

Target parse_target(std::string_view text) {
  if (text == "cpu") return host_cpu_target();
  for (TargetKind kind :
       {TargetKind::kCpu, TargetKind::kEmulator, TargetKind::kCuda, TargetKind::kHip}) {
    const std::string_view prefix = prefix_of(kind);
    if (!text.starts_with(prefix)) continue;
    const std::string_view arch = text.substr(prefix.size());
    if (contains(architectures(kind), arch)) return {kind, std::string(arch)};
  }
  throw_error(
      FFPA_JIT_INVALID_ARGUMENT,
      "target is {}; allowed: cpu (this processor's level), cpu:LEVEL with {}, {}, {}, or emu: "
      "before one of the GPU targets",
      in_quotes(text), fmt::join(kCpu, ", "), fmt::join(kCuda, ", "), fmt::join(kHip, ", "));
}

}  // namespace ffpa_jit
