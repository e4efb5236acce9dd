#include "device/emulator/emulated_kernel.h"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "device/emulator/instruction_table.h"
#include "device/emulator/shared_variables.h"

namespace ffpa_jit::emulator {
namespace {

constexpr char kRun[] = "ffpa_emu_run";
constexpr char kBind[] = "ffpa_emu_bind";
constexpr uint32_t kMaxStaticSharedBytes =
    48 * 1024;  // CUDA C++ Programming Guide, "Compute Capabilities"

// Addresses that the image's segments cover, from 0. The image has passed check_elf_image().
uint64_t size_in_memory(std::span<const std::byte> image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image.data(), sizeof(header));
  uint64_t end = 0;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, image.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_type == PT_LOAD) end = std::max<uint64_t>(end, segment.p_vaddr + segment.p_memsz);
  }
  return end;
}

}  // namespace

EmulatedKernel::EmulatedKernel(const KernelBinary& binary)
    : bytes_(binary.bytes), entry_(binary.entry), image_(bytes_, kRun) {
  const auto bind =
      reinterpret_cast<unsigned long long (*)(const FfpaEmuTable*)>(image_.find(kBind));
  if (!bind || bind(&instruction_table()) != sizeof(FfpaEmuTable)) {
    throw_error(FFPA_JIT_DEVICE_ERROR,
                "emulator: the image of {} was made for another version of the emulator; remove it "
                "with `ffpa-jit cache clear`, so "
                "that it is compiled anew",
                entry_);
  }
  Dl_info info{};
  ::dladdr(image_.entry(), &info);
  begin_ = reinterpret_cast<uintptr_t>(info.dli_fbase);
  end_ = begin_ + size_in_memory(bytes_);
  lay_out_shared_variables();
}

void EmulatedKernel::lay_out_shared_variables() {
  uint64_t top = kSharedBytes;
  for (const SharedVariable& variable : shared_variables(bytes_)) {
    if (variable.control > end_ - begin_ - sizeof(FfpaEmuSharedVariable)) continue;
    auto* control = reinterpret_cast<FfpaEmuSharedVariable*>(begin_ + variable.control);
    if (control->size == 0 || control->size > top) {
      throw_error(FFPA_JIT_DEVICE_ERROR, "emulator: shared variable {} of {} has {} bytes",
                  variable.name, entry_, control->size);
    }
    const uint64_t end = top;
    top = (top - control->size) & ~(std::max<uint64_t>(control->align, 16) - 1);
    control->offset = top;
    variables_.push_back({variable.name, static_cast<uint32_t>(top), static_cast<uint32_t>(end)});
    if (kSharedBytes - top > kMaxStaticSharedBytes) {
      throw_error(FFPA_JIT_DEVICE_ERROR,
                  "emulator: the static shared variables of {} pass {} bytes, the most that a "
                  "kernel may have; use dynamic shared memory",
                  entry_, kMaxStaticSharedBytes);
    }
  }
  static_shared_begin_ = static_cast<uint32_t>(top);
}

void EmulatedKernel::describe(Launch& launch) const {
  launch.run = reinterpret_cast<void (*)(const void*)>(image_.entry());
  launch.image_begin = begin_;
  launch.image_end = end_;
  launch.static_shared_begin = static_shared_begin_;
}

const void* EmulatedKernel::place_of(uint32_t low_half) const {
  return reinterpret_cast<const void*>(
      begin_ + static_cast<uint32_t>(low_half - static_cast<uint32_t>(begin_)));
}

std::string EmulatedKernel::place_text(const void* place, const Symbolizer& symbolizer) const {
  const auto address = reinterpret_cast<uintptr_t>(place);
  if (address <= begin_ || address > end_) return "an unknown place";
  // A return address: the call is before it.
  const uint64_t offset = address - begin_ - 1;
  std::string text = symbolizer ? symbolizer(bytes_, offset) : std::string();
  return text.empty() ? fmt::format("{} +{:#x}", entry_, offset) : text;
}

std::string EmulatedKernel::shared_name(uint32_t offset) const {
  for (const Variable& variable : variables_) {
    if (offset >= variable.begin && offset < variable.end)
      return fmt::format("{} + {}", variable.name, offset - variable.begin);
  }
  return "";
}

}  // namespace ffpa_jit::emulator
