// One generated CPU kernel on its own: planned, rendered, compiled in process, mapped, and called
// cell by cell with hostile scratch memory. Called by the tests of templates/cpu.
#pragma once

#include <optional>
#include <string>

#include "compile/compiler.h"
#include "ffpa_jit/ffpa_jit.h"
#include "kernel/kernel_config.h"

namespace ffpa_jit::testing {

struct KernelOptions {
  std::string level;                   // "x86-64-v4-bf16"
  std::optional<KernelConfig> config;  // else the family's default
  bool emulate_amx = false;            // tile instructions in software, the rest for x86-64-v4-bf16
};

// nullptr where this machine cannot compile for CPUs; `reason` says why.
Compiler* cpu_compiler(std::string* reason);

// The host's own level and those it contains. A level it lacks would be an illegal instruction.
bool host_runs(const std::string& level);

// Compiles and runs `args`. Before every cell the scratch memory is all NaN; an overrun of it is a
// failure of the calling test.
void run_kernel(const ffpa_jit_attention_args& args, const KernelOptions& options);

// Compiles only; returns the binary's size.
size_t compile_kernel(const ffpa_jit_attention_args& args, const KernelOptions& options);

}  // namespace ffpa_jit::testing
