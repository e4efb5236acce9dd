#include "compile/compile_options.h"

#include <array>
#include <string_view>

#include "compile/compiler.h"

namespace ffpa_jit {
namespace {

// --minimal leaves out the declarations of built-in headers (quicker; no builtins library is
// needed);
// --no-cache keeps NVRTC's own disk cache out of it; -default-device makes plain functions
// __device__;
// --modify-stack-limit=false leaves the host's RLIMIT_STACK alone; -Xptxas=-v reports registers and
// spills.
constexpr std::array<NvrtcOption, 6> kNvrtc = {{{"--std=c++20", true},
                                                {"--minimal", false},
                                                {"--no-cache", false},
                                                {"-default-device", true},
                                                {"-Xptxas=-v", true},
                                                {"--modify-stack-limit=false", false}}};

// The driver's defaults do not apply to -cc1: what it would add at -O3 is spelled out.
constexpr std::array kClang = {"-triple",
                               "x86_64-unknown-linux-gnu",
                               "-emit-obj",
                               "-x",
                               "c++",
                               "-std=c++20",
                               "-O3",
                               "-vectorize-loops",
                               "-vectorize-slp",
                               "-ffp-contract=fast",
                               "-ffreestanding",
                               "-fno-rtti",
                               "-fno-threadsafe-statics",
                               "-mrelocation-model",
                               "pic",
                               "-pic-level",
                               "2",
                               "-mframe-pointer=none",
                               "-nostdsysteminc",
                               "-nobuiltininc"};

// A level turns on what target.h says it has and no more: Cooper Lake has AVX512-BF16 without VBMI,
// Zen 4 with it. By itself LLVM prefers 256-bit vectors for x86-64-v4, for the sake of Skylake's
// clock; attention wants 512.
struct Level {
  std::string_view arch;
  std::array<const char*, 9> arguments;  // up to the first nullptr
};
constexpr const char* kWide = "-mprefer-vector-width=512";
constexpr std::array<Level, 5> kLevels = {
    {{"x86-64", {"-target-cpu", "x86-64"}},
     {"x86-64-v3", {"-target-cpu", "x86-64-v3"}},
     {"x86-64-v4", {"-target-cpu", "x86-64-v4", kWide}},
     {"x86-64-v4-bf16", {"-target-cpu", "x86-64-v4", kWide, "-target-feature", "+avx512bf16"}},
     {"x86-64-v4-amx",
      {"-target-cpu", "x86-64-v4", kWide, "-target-feature", "+avx512bf16", "-target-feature",
       "+amx-tile", "-target-feature", "+amx-bf16"}}}};

// Kernels for the emulator are C++ for this machine, instrumented: every load and store calls back
// (templates/cuda/lib/emu/prelude.cuh), __shared__ variables are thread-local ones whose address is
// asked for, line tables let reports name places. -O0: an mma kernel for D = 512 takes 0.09 s to
// compile and 0.70 s at -O1, and runs 5 to 50 % slower. Locals start as a pattern, so that
// one that is never set is the same garbage every time. A kernel's frame must fit its emulated
// thread's stack.
constexpr std::array kEmulator = {"-triple",
                                  "x86_64-unknown-linux-gnu",
                                  "-emit-obj",
                                  "-x",
                                  "c++",
                                  "-std=c++20",
                                  "-O0",
                                  "-fsanitize=thread",
                                  "-femulated-tls",
                                  "-debug-info-kind=line-tables-only",
                                  "-dwarf-version=5",
                                  "-ffp-contract=off",
                                  "-relaxed-aliasing",
                                  "-ffreestanding",
                                  "-fno-rtti",
                                  "-fno-threadsafe-statics",
                                  "-ftrivial-auto-var-init=pattern",
                                  "-fwarn-stack-size=98304",
                                  "-Werror=frame-larger-than",
                                  "-Wno-unknown-pragmas",
                                  "-mrelocation-model",
                                  "pic",
                                  "-pic-level",
                                  "2",
                                  "-nostdsysteminc",
                                  "-nobuiltininc"};

// Small (pages of 4 KB, nothing but what the loader reads) and the same bytes every time (no build
// id). No library is named as needed: the imports are in the C library, which every process has.
constexpr std::array kLink = {"-shared",
                              "-Bsymbolic",
                              "--build-id=none",
                              "--hash-style=gnu",
                              "--threads=1",
                              "-s",
                              "-z",
                              "noseparate-code",
                              "-z",
                              "max-page-size=4096",
                              "-z",
                              "norelro",
                              "--gc-sections"};

}  // namespace

std::span<const NvrtcOption> nvrtc_options() { return kNvrtc; }

std::vector<std::string> clang_options(const Target& target) {
  if (target.kind == TargetKind::kEmulator && target.compute_capability() > 0) {
    std::vector<std::string> out(kEmulator.begin(), kEmulator.end());
    // One instruction for a fused multiply-add, where this processor has it.
    out.insert(out.end(),
               {"-target-cpu", host_cpu_target_at_most({TargetKind::kCpu, "x86-64-v3"}).arch});
    return out;
  }
  if (target.kind != TargetKind::kCpu) return {};
  for (const Level& level : kLevels) {
    if (level.arch != target.arch) continue;
    std::vector<std::string> out(kClang.begin(), kClang.end());
    for (const char* argument : level.arguments) {
      if (argument) out.emplace_back(argument);
    }
    return out;
  }
  return {};
}

std::vector<const char*> link_options(const Target& target) {
  std::vector<const char*> out(kLink.begin(), kLink.end());
  // The emulator reads symbols and line tables.
  if (target.kind == TargetKind::kEmulator) std::erase(out, std::string_view("-s"));
  return out;
}

std::vector<std::string> compile_options(const Target& target) {
  std::vector<std::string> out;
  if (target.kind == TargetKind::kCuda) {
    out.push_back("-arch=" + target.arch);
    for (const NvrtcOption& option : kNvrtc) out.emplace_back(option.text);
  } else if (out = clang_options(target); !out.empty()) {
    for (const char* option : link_options(target)) out.emplace_back(option);
  }
  return out;
}

}  // namespace ffpa_jit
