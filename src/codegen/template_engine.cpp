#include "codegen/template_engine.h"

#include "base/error.h"
#include "codegen/interpreter.h"
#include "codegen/parser.h"

namespace ffpa_jit::codegen {

TemplateEngine::TemplateEngine(std::shared_ptr<const TemplateLoader> loader, EngineOptions options)
    : loader_(std::move(loader)), options_(options) {}

TemplateEngine::~TemplateEngine() = default;

std::shared_ptr<const Template> TemplateEngine::parsed(std::string_view name) const {
  {
    std::lock_guard lock(mutex_);
    auto found = parsed_.find(name);
    if (found != parsed_.end()) return found->second;
  }
  // Parsing runs unlocked: two threads may parse the same template, the first one to finish is
  // kept.
  std::optional<std::string> text = loader_->load(name);
  if (!text) return nullptr;
  auto result = parse_template(std::string(name), *text, options_.limits);
  std::lock_guard lock(mutex_);
  return parsed_.try_emplace(std::string(name), std::move(result)).first->second;
}

std::shared_ptr<const Template> TemplateEngine::require(std::string_view name) const {
  if (auto result = parsed(name)) return result;
  throw_error(
      FFPA_JIT_TEMPLATE_ERROR,
      "there is no template '{}'; names are relative to templates/, such as 'common/params.h'",
      name);
}

std::string TemplateEngine::render_parsed(std::shared_ptr<const Template> source,
                                          const nlohmann::ordered_json& context,
                                          bool line_directives) const {
  Interpreter interpreter(options_.limits, line_directives,
                          [this](std::string_view name) { return parsed(name); });
  return interpreter.render(std::move(source), context);
}

std::string TemplateEngine::render(std::string_view name,
                                   const nlohmann::ordered_json& context) const {
  return render_parsed(require(name), context, options_.line_directives);
}

std::string TemplateEngine::render_with_lines(std::string_view name,
                                              const nlohmann::ordered_json& context) const {
  return render_parsed(require(name), context, true);
}

std::string TemplateEngine::render_text(std::string_view text,
                                        const nlohmann::ordered_json& context,
                                        std::string_view name) const {
  return render_parsed(parse_template(std::string(name), text, options_.limits), context,
                       options_.line_directives);
}

}  // namespace ffpa_jit::codegen
