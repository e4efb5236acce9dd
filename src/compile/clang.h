// ClangCompiler: C++ source to a shared-object image for this kind of processor, through the Clang
// plugin, in process. Made by CompilerSet.
//
// What generated source may count on: C++20, no headers; vector extensions, __builtin_* and
// __builtin_ia32_* of the target's level, __bf16 and _Float16 as storage (conversions are library
// calls below AVX512-BF16 and F16C, which an image cannot make). Floating point: a*b+c may become
// one fma, nothing else is reordered. An image may call memcpy, memmove, memset and memcmp, nothing
// else.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compile/compiler.h"

namespace ffpa_jit {

class ClangPlugin;

class ClangCompiler final : public Compiler {
 public:
  explicit ClangCompiler(std::shared_ptr<const ClangPlugin> plugin);

  const std::string& identity() const override { return identity_; }
  bool supports(const Target& target) const override;
  std::vector<std::string> targets() const override;
  KernelBinary compile(const KernelSource& source, const CompileLimits& limits) override;

 private:
  std::shared_ptr<const ClangPlugin> plugin_;
  std::string identity_;
};

}  // namespace ffpa_jit
