// KernelBinary: what a compiler made, with the resources it will need. The cache stores it, a
// device loads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ffpa_jit {

enum class BinaryFormat : uint8_t { kCubin, kElfSharedObject, kHsaCodeObject };

// "cubin", "elf-so", "hsaco": what the cache stores.
std::string_view name_of(BinaryFormat format);
BinaryFormat binary_format_of(std::string_view name);  // throws Error INVALID_ARGUMENT

// Read from the compiler's report and the ELF; no device is needed. -1: not known for this format.
struct KernelResources {
  int registers = -1;    // per thread
  int spill_bytes = -1;  // stores + loads, per thread
  int local_bytes = -1;  // stack frame, per thread
  int64_t static_shared_bytes = -1;
  int64_t code_bytes = -1;

  bool operator==(const KernelResources&) const = default;
};

// "registers=96 spill_bytes=0 ...": the known fields in declaration order; parse(text) == value.
std::string text_of(const KernelResources& resources);
KernelResources parse_resources(std::string_view text);  // throws Error INVALID_ARGUMENT

struct KernelBinary {
  std::vector<std::byte> bytes;
  BinaryFormat format = BinaryFormat::kCubin;
  std::string entry;
  KernelResources resources;
  std::string compiler;  // name and exact version, e.g. "nvrtc 13.0.88", "clang 22.1.8"
  std::string log;       // warnings
};

}  // namespace ffpa_jit
