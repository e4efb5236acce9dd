// Renders many templates in one process, for conformance.py: one JSON object per input line,
//   {"main": name, "templates": {name: text}, "context": {...}}
// ("templates" absent: those of the library), one answer per line, {"output": text} or {"error":
// text}.
#include <iostream>
#include <map>
#include <string>

#include "base/error.h"
#include "codegen/template_engine.h"

namespace {

using nlohmann::ordered_json;
using namespace ffpa_jit;

std::shared_ptr<const codegen::TemplateLoader> loader_of(const ordered_json& request) {
  if (!request.contains("templates")) return std::make_shared<codegen::EmbeddedTemplates>();
  std::map<std::string, std::string, std::less<>> templates;
  for (const auto& [name, text] : request["templates"].items())
    templates[name] = text.get<std::string>();
  return std::make_shared<codegen::MapTemplates>(std::move(templates));
}

ordered_json answer(const std::string& line) {
  ordered_json result;
  try {
    ordered_json request = ordered_json::parse(line);
    codegen::TemplateEngine engine(loader_of(request));
    result["output"] = engine.render(request["main"].get<std::string>(), request["context"]);
  } catch (const Error& error) {
    result["error"] = error.what();
  }
  return result;
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(line).dump() << "\n" << std::flush;
}
