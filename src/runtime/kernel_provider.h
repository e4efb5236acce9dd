// KernelProvider: source text in, binary out: from the cache, or compiled once per machine and
// cached.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/log.h"
#include "cache/store.h"
#include "compile/compiler.h"
#include "kernel/kernel_binary.h"
#include "kernel/kernel_source.h"

namespace ffpa_jit {

// What a listing of the cache shows of a kernel.
struct KernelOrigin {
  std::string family;
  std::string problem;
  std::string config;
};

struct ProvidedKernel {
  KernelBinary binary;
  bool cache_hit = false;
  double compile_ms = 0;  // 0 on a hit
  bool kept = true;       // on disk, for other processes and the next one
};

class KernelProvider {
 public:
  KernelProvider(std::shared_ptr<Store> store, std::shared_ptr<CompilerSet> compilers,
                 CompilerMatch match, std::chrono::milliseconds time_limit, Logger log);

  // The first part of a kernel's cache key: source, target, options, format version.
  static Hash128 key_of(const KernelSource& source);

  // nullopt when no layer of the cache has it. Compiles nothing; loads a compiler only under
  // CompilerMatch::kExact.
  std::optional<KernelBinary> find(const KernelSource& source);

  // Throws NO_COMPILER, COMPILE_FAILED, TIMEOUT.
  ProvidedKernel find_or_compile(const KernelSource& source, const KernelOrigin& origin);

 private:
  std::optional<KernelBinary> find(const Hash128& key, const std::string& compiler);
  ProvidedKernel compile(const Hash128& key, const KernelSource& source, const KernelOrigin& origin,
                         Compiler& compiler);

  std::shared_ptr<Store> store_;
  std::shared_ptr<CompilerSet> compilers_;
  CompilerMatch match_;
  std::chrono::milliseconds time_limit_;
  Logger log_;
};

}  // namespace ffpa_jit
