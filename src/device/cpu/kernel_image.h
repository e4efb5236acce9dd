// KernelImage: a compiled CPU kernel (bytes of an ELF shared object) mapped into this process.
// Called by CpuDevice.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace ffpa_jit {

class KernelImage {
 public:
  // Checks the bytes (see check_elf_image), maps them without leaving a file behind, and finds
  // `entry`. Throws Error DEVICE_ERROR.
  KernelImage(std::span<const std::byte> bytes, const std::string& entry);
  ~KernelImage();
  KernelImage(const KernelImage&) = delete;
  KernelImage& operator=(const KernelImage&) = delete;

  void* entry() const { return entry_; }
  // Another exported symbol; null when there is none.
  void* find(const std::string& name) const;

 private:
  void* handle_ = nullptr;
  void* entry_ = nullptr;
};

// The loader trusts what it is given and crashes on damage. This refuses what is not a 64-bit
// shared object for this machine, is cut short, or points outside itself: header, segments, dynamic
// section, symbol, string, hash and relocation tables. Throws Error DEVICE_ERROR.
void check_elf_image(std::span<const std::byte> bytes);

}  // namespace ffpa_jit
