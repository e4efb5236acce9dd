// The compilers that a test program uses: those that this machine's environment names, as a
// runtime would take them (tools/test points FFPA_JIT_NVRTC at the NVRTC it has fetched).
#pragma once

#include "compile/compiler.h"
#include "policy/environment.h"

namespace ffpa_jit::test {

inline CompilerLibraries local_compiler_libraries() {
  const Environment environment = Environment::read();
  return {.nvrtc = environment.nvrtc, .clang_plugin = environment.clang_plugin};
}

// Loaded once in a program, and never unloaded.
inline CompilerSet& local_compilers() {
  static CompilerSet& compilers = *new CompilerSet(nullptr, local_compiler_libraries());
  return compilers;
}

}  // namespace ffpa_jit::test
