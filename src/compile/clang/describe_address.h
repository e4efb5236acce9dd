// From an address in a kernel image to the places in the templates it was made from.
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <cstdint>
#include <string>

namespace ffpa_jit::clang_plugin {

// Appends "file:line\tfunction\n" for each function inlined at `address`, innermost first.
void describe_address(llvm::ArrayRef<uint8_t> image, uint64_t address, std::string* out);

}  // namespace ffpa_jit::clang_plugin
