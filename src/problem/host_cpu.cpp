// Which CPU level this processor and its operating system offer. A level counts only when the
// processor has every feature of it (CPUID) and the kernel saves the registers it needs (XGETBV;
// for AMX also a permission).
#include <algorithm>

#include "base/error.h"
#include "problem/target.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace ffpa_jit {
namespace {

#if defined(__x86_64__)

struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf cpuid(unsigned leaf, unsigned subleaf) {
  Leaf out;
  // Returns 0 and leaves `out` zero when the processor has no such leaf.
  __get_cpuid_count(leaf, subleaf, &out.eax, &out.ebx, &out.ecx, &out.edx);
  return out;
}

bool has(unsigned word, std::initializer_list<int> bits) {
  return std::all_of(bits.begin(), bits.end(), [&](int bit) { return (word >> bit) & 1u; });
}

// Extended control register 0: the state components that the operating system saves. Only where
// CPUID.1:ECX.27 (OSXSAVE) is set.
uint64_t xcr0() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

// Linux gives the 8 KB of AMX tile data only to processes that ask
// (Documentation/arch/x86/xstate.rst). The permission is per process, inherited by its threads, and
// costs nothing until the first tile instruction.
bool request_amx_permission() {
  constexpr long kArchReqXcompPerm = 0x1023;
  constexpr long kXfeatureTileData = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureTileData) == 0;
}

std::string_view detect() {
  const Leaf basic = cpuid(1, 0);
  const Leaf extended = cpuid(0x80000001u, 0);
  const Leaf seven = cpuid(7, 0);
  const Leaf seven_one = seven.eax >= 1 ? cpuid(7, 1) : Leaf{};

  constexpr uint64_t kAvxState = 0x6;       // XMM, YMM
  constexpr uint64_t kAvx512State = 0xe0;   // opmask, upper halves of ZMM0-15, ZMM16-31
  constexpr uint64_t kTileState = 0x60000;  // TILECFG, TILEDATA
  const uint64_t saved = has(basic.ecx, {27}) ? xcr0() : 0;

  // FMA, SSE4.1, SSE4.2, MOVBE, POPCNT, AVX, F16C; BMI1, AVX2, BMI2; LZCNT: the whole of x86-64-v3,
  // because the compiler uses all of it.
  const bool v3 = has(basic.ecx, {12, 19, 20, 22, 23, 28, 29}) && has(seven.ebx, {3, 5, 8}) &&
                  has(extended.ecx, {5}) && (saved & kAvxState) == kAvxState;
  if (!v3) return "x86-64";
  const bool v4 = has(seven.ebx, {16, 17, 28, 30, 31}) && (saved & kAvx512State) == kAvx512State;
  if (!v4) return "x86-64-v3";
  if (!has(seven_one.eax, {5})) return "x86-64-v4";
  const bool amx = has(seven.edx, {22, 24}) && (saved & kTileState) == kTileState;
  return amx && request_amx_permission() ? "x86-64-v4-amx" : "x86-64-v4-bf16";
}

#endif

size_t rank_of(const Target& target) {
  const auto levels = architectures(TargetKind::kCpu);
  const auto found = std::find(levels.begin(), levels.end(), target.arch);
  if (target.kind != TargetKind::kCpu || found == levels.end()) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "CPU level is \"{}\"; allowed: {}", text_of(target),
                fmt::join(levels, ", "));
  }
  return static_cast<size_t>(found - levels.begin());
}

}  // namespace

Target host_cpu_target() {
#if defined(__x86_64__)
  static const std::string level(
      detect());  // once: the answer cannot change, the permission need not be asked twice
  return {TargetKind::kCpu, level};
#else
  throw_error(
      FFPA_JIT_UNSUPPORTED,
      "this processor is not x86-64; allowed for attention on the CPU: {}; use another device",
      fmt::join(architectures(TargetKind::kCpu), ", "));
#endif
}

Target host_cpu_target_at_most(const Target& limit) {
  const Target host = host_cpu_target();
  return rank_of(limit) < rank_of(host) ? limit : host;
}

}  // namespace ffpa_jit
