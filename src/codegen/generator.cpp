#include "codegen/generator.h"

#include "codegen/emulated_templates.h"

namespace ffpa_jit::codegen {

KernelSource generate(const TemplateEngine& engine, const std::string& template_name,
                      const nlohmann::ordered_json& context, const std::string& entry,
                      const Target& target) {
  nlohmann::ordered_json with_entry = context;
  if (!with_entry.contains("entry")) with_entry["entry"] = entry;
  KernelSource source;
  const bool emulated = target.kind == TargetKind::kEmulator;
  source.text = engine.render_with_lines(
      emulated ? EmulatedTemplates::whole(template_name) : template_name, with_entry);
  source.entry = entry;
  source.template_name = template_name;
  source.target = target;
  return source;
}

}  // namespace ffpa_jit::codegen
