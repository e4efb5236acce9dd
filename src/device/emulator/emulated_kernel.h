// EmulatedKernel: a kernel's image for the emulator, loaded into this process, bound to the
// emulator's functions, its static shared memory laid out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/cpu/kernel_image.h"
#include "device/device.h"
#include "device/emulator/options.h"
#include "device/emulator/state.h"

namespace ffpa_jit::emulator {

class EmulatedKernel final : public LoadedKernel {
 public:
  // Throws Error DEVICE_ERROR.
  explicit EmulatedKernel(const KernelBinary& binary);

  const std::string& entry() const { return entry_; }
  // Fills in what a launch needs to know of the image.
  void describe(Launch& launch) const;
  uint32_t static_shared_bytes() const { return kSharedBytes - static_shared_begin_; }

  // "templates/cuda/x.j2:12 (qk)", or the offset in the image.
  std::string place_text(const void* place, const Symbolizer& symbolizer) const;
  // From the low half that ShadowMemory keeps.
  const void* place_of(uint32_t low_half) const;
  // The static variable at an offset in shared memory: "ffpa_sdpa_forward::smem + 12"; empty: none.
  std::string shared_name(uint32_t offset) const;

 private:
  struct Variable {
    std::string name;
    uint32_t begin, end;
  };
  void lay_out_shared_variables();

  std::vector<std::byte> bytes_;
  std::string entry_;
  KernelImage image_;
  uintptr_t begin_ = 0, end_ = 0;
  uint32_t static_shared_begin_ = kSharedBytes;
  std::vector<Variable> variables_;
};

}  // namespace ffpa_jit::emulator
