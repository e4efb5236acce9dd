// EmulatedTemplates: the same kernels for the emulator. Laid over another loader by whoever makes
// an engine for emulated targets.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "codegen/template_loader.h"

namespace ffpa_jit::codegen {

// A kernel includes cuda/lib/X.cuh, one function for each instruction: here it gets
// cuda/lib/emu/X.cuh, the same functions for the emulator. A file of cuda/lib/ without inline
// assembly serves as it is.
class EmulatedTemplates : public TemplateLoader {
 public:
  explicit EmulatedTemplates(std::shared_ptr<const TemplateLoader> templates)
      : templates_(std::move(templates)) {}

  // Throws Error TEMPLATE_ERROR for a file with inline assembly that has no emulated counterpart.
  std::optional<std::string> load(std::string_view name) const override;
  std::vector<std::string> names() const override { return templates_->names(); }

  // The name under which load() gives kernel template `name` with the emulator's prelude before it
  // and its entry after it.
  static std::string whole(std::string_view name);

 private:
  std::shared_ptr<const TemplateLoader> templates_;
};

}  // namespace ffpa_jit::codegen
