// Where code of a CPU or emulator image was written. The runtime hands this to the emulator, whose
// reports name places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ffpa_jit {

// "templates/cuda/x.j2:12 (qk)" for an address in an image that has line tables: the innermost
// place outside the instruction wrappers of lib/. Empty where it cannot be told (no Clang plugin,
// no line tables).
// `clang_plugin` as in CompilerLibraries.
std::string source_place(const std::string& clang_plugin, std::span<const std::byte> image,
                         uint64_t address);

}  // namespace ffpa_jit
