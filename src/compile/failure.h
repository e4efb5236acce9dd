// The words of a failed compile, the same for every compiler.
#pragma once

#include <string>

#include "compile/compile_thread.h"
#include "compile/compiler.h"

namespace ffpa_jit {

// COMPILE_FAILED: "nvrtc 13.0.88 refused templates/cuda/x.j2 for sm_90a:" and the whole log.
[[noreturn]] void throw_refused(const std::string& identity, const KernelSource& source,
                                const std::string& log);
// COMPILE_FAILED: compiled, but there is no such function in the result.
[[noreturn]] void throw_missing_entry(const std::string& identity, const KernelSource& source,
                                      const std::string& log);
// TIMEOUT, or COMPILE_FAILED saying that it was cancelled.
[[noreturn]] void throw_unfinished(CompileEnd end, const std::string& identity,
                                   const KernelSource& source, const CompileLimits& limits);
// NO_COMPILER with the targets that the compiler has.
[[noreturn]] void throw_unsupported_target(const Compiler& compiler, const Target& target);

}  // namespace ffpa_jit
