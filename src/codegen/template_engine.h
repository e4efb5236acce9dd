// TemplateEngine: renders Jinja2 templates exactly as Python's jinja2 does with
//   Environment(undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True,
//   lstrip_blocks=True,
//               line_statement_prefix="//%", autoescape=False)
// for the subset in README.md. The generator, `ffpa-jit render` and the tests call it.
//
// Errors are ffpa_jit::Error TEMPLATE_ERROR: "templates/x.j2:LINE:COL: message", the line with a
// caret, and the chain of includes, imports and macro calls that led there.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "codegen/limits.h"
#include "codegen/template_loader.h"

namespace ffpa_jit::codegen {

struct Template;

struct EngineOptions {
  // Put `#line N "templates/<name>"` before every output line whose place does not follow from the
  // line before, so that compilers report template lines. Off: the output is byte for byte what
  // jinja2 gives.
  bool line_directives = false;
  Limits limits;
};

// Thread-safe. Templates are parsed on first use and kept.
class TemplateEngine {
 public:
  explicit TemplateEngine(std::shared_ptr<const TemplateLoader> loader, EngineOptions options = {});
  ~TemplateEngine();
  TemplateEngine(const TemplateEngine&) = delete;
  TemplateEngine& operator=(const TemplateEngine&) = delete;

  // `context` is a JSON object, or null for an empty one.
  std::string render(std::string_view name, const nlohmann::ordered_json& context) const;
  std::string render_text(std::string_view text, const nlohmann::ordered_json& context,
                          std::string_view name = "<string>") const;
  // The same with `#line` directives, whatever the options say.
  std::string render_with_lines(std::string_view name, const nlohmann::ordered_json& context) const;

  const TemplateLoader& loader() const { return *loader_; }

 private:
  // nullptr when the loader has no such template.
  std::shared_ptr<const Template> parsed(std::string_view name) const;
  std::string render_parsed(std::shared_ptr<const Template> source,
                            const nlohmann::ordered_json& context, bool line_directives) const;
  std::shared_ptr<const Template> require(std::string_view name) const;

  std::shared_ptr<const TemplateLoader> loader_;
  EngineOptions options_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const Template>, std::less<>> parsed_;
};

}  // namespace ffpa_jit::codegen
