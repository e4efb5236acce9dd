// Compiler: source in, binary out. Found at run time; a machine may have none.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/log.h"
#include "kernel/kernel_binary.h"
#include "kernel/kernel_source.h"

namespace ffpa_jit {

struct CompileLimits {
  std::chrono::milliseconds time_limit{120'000};
  std::stop_token stop;
};

// The options a kernel for `target` is compiled with, in order: part of the cache key, so known
// without loading any compiler. No paths.
std::vector<std::string> compile_options(const Target& target);

class Compiler {
 public:
  virtual ~Compiler() = default;

  // "nvrtc 13.0.88": part of the cache key.
  virtual const std::string& identity() const = 0;
  virtual bool supports(const Target& target) const = 0;
  // Every target this compiler can build for, canonical texts.
  virtual std::vector<std::string> targets() const = 0;
  // Thread-safe. Throws Error COMPILE_FAILED (with the whole log, positions in template lines),
  // TIMEOUT.
  virtual KernelBinary compile(const KernelSource& source, const CompileLimits& limits) = 0;
};

// What `ffpa-jit doctor` prints about a compiler that is absent or present.
struct CompilerStatus {
  std::string name;      // "nvrtc", "clang"
  std::string identity;  // empty when absent
  std::string reason;    // why it is absent
  std::string remedy;    // what to install
};

// Libraries to load instead of those that are searched for; an empty text: search.
struct CompilerLibraries {
  std::string nvrtc{};         // a library, a loader's name, or a directory that holds one
  std::string clang_plugin{};  // a library
};

// The compilers of this machine, each loaded on first use and then kept.
class CompilerSet {
 public:
  explicit CompilerSet(Logger log, CompilerLibraries libraries = {});
  ~CompilerSet();

  // The compiler for a target; throws Error NO_COMPILER saying what is missing and what to install.
  Compiler& for_target(const Target& target);
  // nullptr where there is none. `reason` (optional) receives why.
  Compiler* find(const Target& target, std::string* reason);
  std::vector<CompilerStatus> status();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ffpa_jit
