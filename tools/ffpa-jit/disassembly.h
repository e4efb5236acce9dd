// Machine code as text, by the tools that may be installed: nvdisasm or cuobjdump for cubins,
// objdump for CPU images.
#pragma once

#include <string>

#include "kernel/kernel_binary.h"

namespace ffpa_jit::cli {

struct Disassembly {
  std::string text;    // empty when there is none
  std::string absent;  // why, and what to install
};

Disassembly disassemble(const KernelBinary& binary);

}  // namespace ffpa_jit::cli
