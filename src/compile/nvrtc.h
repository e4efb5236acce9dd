// NvrtcCompiler: CUDA source to cubin through NVRTC, for every architecture that it knows, on
// machines with or without a GPU. Made by CompilerSet.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compile/compiler.h"

namespace ffpa_jit {

class NvrtcLibrary;

class NvrtcCompiler final : public Compiler {
 public:
  explicit NvrtcCompiler(std::shared_ptr<const NvrtcLibrary> library);

  const std::string& identity() const override;
  bool supports(const Target& target) const override;
  std::vector<std::string> targets() const override;
  KernelBinary compile(const KernelSource& source, const CompileLimits& limits) override;

 private:
  std::shared_ptr<const NvrtcLibrary> library_;
};

}  // namespace ffpa_jit
