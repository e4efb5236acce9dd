#include "codegen/emulated_templates.h"

#include "base/error.h"

namespace ffpa_jit::codegen {
namespace {

constexpr std::string_view kLibrary = "cuda/lib/";
constexpr std::string_view kEmulatedLibrary = "cuda/lib/emu/";
constexpr std::string_view kWhole = "emulated:";

std::string include(std::string_view name) { return "//% include \"" + std::string(name) + "\"\n"; }

}  // namespace

std::string EmulatedTemplates::whole(std::string_view name) {
  return std::string(kWhole) + std::string(name);
}

std::optional<std::string> EmulatedTemplates::load(std::string_view name) const {
  if (name.starts_with(kWhole)) {
    return include("cuda/lib/emu/prelude.cuh") + include(name.substr(kWhole.size())) +
           include("cuda/lib/emu/entry.cuh");
  }
  if (!name.starts_with(kLibrary) || name.starts_with(kEmulatedLibrary))
    return templates_->load(name);
  const std::string emulated =
      std::string(kEmulatedLibrary) + std::string(name.substr(kLibrary.size()));
  // Included, so that the place of a line in it is its own.
  if (templates_->load(emulated)) return include(emulated);
  std::optional<std::string> own = templates_->load(name);
  if (own && own->find("asm") != std::string::npos) {
    throw_error(FFPA_JIT_TEMPLATE_ERROR,
                "templates/{} has instructions of the hardware and no counterpart for the "
                "emulator; write templates/{}",
                name, emulated);
  }
  return own;
}

}  // namespace ffpa_jit::codegen
