#include "templates/cuda/render_for_host.h"

#include <memory>

#include "codegen/template_engine.h"

namespace ffpa_jit::testing {

std::string render_for_host(const PlanStep& step) {
  static const codegen::TemplateEngine engine(std::make_shared<codegen::OverlayTemplates>(
      FFPA_TEST_SOURCE_DIR "/templates/cuda/host", std::make_shared<codegen::EmbeddedTemplates>()));
  return engine.render(step.template_name, step.context);
}

}  // namespace ffpa_jit::testing
