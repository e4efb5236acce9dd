#include "compile/failure.h"

#include <fmt/ranges.h>

#include "base/error.h"

namespace ffpa_jit {

void throw_refused(const std::string& identity, const KernelSource& source,
                   const std::string& log) {
  throw_error(FFPA_JIT_COMPILE_FAILED, "{} refused {} for {}:\n{}", identity, source.template_name,
              text_of(source.target), log);
}

void throw_missing_entry(const std::string& identity, const KernelSource& source,
                         const std::string& log) {
  throw_error(FFPA_JIT_COMPILE_FAILED,
              "{} compiled {} for {}, but the result has no function `{}`; the template must "
              "define it, extern "
              "\"C\" and not static{}{}",
              identity, source.template_name, text_of(source.target), source.entry,
              log.empty() ? "" : ":\n", log);
}

void throw_unfinished(CompileEnd end, const std::string& identity, const KernelSource& source,
                      const CompileLimits& limits) {
  if (end == CompileEnd::kCancelled) {
    throw_error(FFPA_JIT_COMPILE_FAILED, "{} on {} for {} was cancelled", identity,
                source.template_name, text_of(source.target));
  }
  throw_error(FFPA_JIT_TIMEOUT,
              "{} took longer than the limit of {} ms on {} for {}; raise the time limit, or make "
              "the kernel "
              "smaller (less unrolling)",
              identity, limits.time_limit.count(), source.template_name, text_of(source.target));
}

void throw_unsupported_target(const Compiler& compiler, const Target& target) {
  throw_error(FFPA_JIT_NO_COMPILER, "{} does not build for {}; it builds for: {}",
              compiler.identity(), text_of(target), fmt::join(compiler.targets(), ", "));
}

}  // namespace ffpa_jit
