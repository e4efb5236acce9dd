// The __shared__ variables of a kernel image: clang's control objects of emulated thread-local
// variables, found in the image's symbol table. Called when an image is loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ffpa_jit::emulator {

struct SharedVariable {
  std::string name;      // "ffpa_sdpa_forward::smem"
  uint64_t control = 0;  // address of its FfpaEmuSharedVariable, from the image's start
};

// In order of address. Reads only inside `image`; what is malformed has no variables.
std::vector<SharedVariable> shared_variables(std::span<const std::byte> image);

}  // namespace ffpa_jit::emulator
