#include "device/emulator/failure_text.h"

#include <fmt/format.h>

#include <cstdlib>

namespace ffpa_jit::emulator {
namespace {

// Replaces every "{0x...}", an address in the kernel, by its place.
std::string with_places(const std::string& text, const EmulatedKernel& kernel,
                        const Symbolizer& symbolizer) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t open = text.find("{0x", at);
    const size_t close = open == std::string::npos ? open : text.find('}', open);
    if (close == std::string::npos) break;
    out += text.substr(at, open - at);
    const auto address = std::strtoull(text.c_str() + open + 1, nullptr, 16);
    out += kernel.place_text(reinterpret_cast<const void*>(address), symbolizer);
    at = close + 1;
  }
  return out + text.substr(at);
}

}  // namespace

std::string failure_text(const Failure& failure, const EmulatedKernel& kernel,
                         const Symbolizer& symbolizer) {
  std::string text = "emulator: " + with_places(failure.what, kernel, symbolizer);
  if (failure.shared_offset >= 0) {
    const std::string name = kernel.shared_name(static_cast<uint32_t>(failure.shared_offset));
    text += fmt::format(" [{}]", name.empty() ? "dynamic shared memory" : name);
  }
  text += fmt::format("; kernel {}, block ({},{},{})", kernel.entry(), failure.block.x,
                      failure.block.y, failure.block.z);
  if (failure.warp >= 0)
    text += fmt::format(" warp {} lane {} (thread {})", failure.warp, failure.lane, failure.thread);
  if (failure.place) text += fmt::format(" at {}", kernel.place_text(failure.place, symbolizer));
  if (!failure.other.empty()) {
    text += fmt::format("; {}", failure.other);
    if (failure.other_place)
      text += fmt::format(" at {}",
                          kernel.place_text(kernel.place_of(failure.other_place), symbolizer));
  }
  return text;
}

}  // namespace ffpa_jit::emulator
