#include "codegen/template_loader.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "codegen/embedded_templates.h"

namespace ffpa_jit::codegen {

std::optional<std::string> EmbeddedTemplates::load(std::string_view name) const {
  auto table = embedded_templates();
  auto found =
      std::lower_bound(table.begin(), table.end(), name,
                       [](const EmbeddedTemplate& t, std::string_view n) { return t.name < n; });
  if (found == table.end() || found->name != name) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(found->bytes), found->size);
}

std::vector<std::string> EmbeddedTemplates::names() const {
  std::vector<std::string> result;
  for (const EmbeddedTemplate& entry : embedded_templates()) result.emplace_back(entry.name);
  return result;
}

OverlayTemplates::OverlayTemplates(std::filesystem::path directory,
                                   std::shared_ptr<const TemplateLoader> fallback)
    : directory_(std::move(directory)), fallback_(std::move(fallback)) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory_, ignored)) {
    throw_error(FFPA_JIT_IO_ERROR,
                "the template directory '{}' is not a directory; set FFPA_JIT_TEMPLATE_DIR to one "
                "that holds "
                "replacements for files of templates/, or unset it",
                directory_.string());
  }
}

std::optional<std::string> OverlayTemplates::load(std::string_view name) const {
  std::filesystem::path relative(name);
  bool inside = relative.is_relative() && name.find('\0') == std::string_view::npos;
  for (const auto& part : relative) inside = inside && part != "..";
  if (!inside) {
    throw_error(FFPA_JIT_TEMPLATE_ERROR,
                "the template name '{}' leaves the template directory; names are relative to "
                "templates/ and have no '..'",
                name);
  }
  std::filesystem::path path = directory_ / relative;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return fallback_->load(name);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.bad()) {
    throw_error(FFPA_JIT_IO_ERROR, "the template file '{}' cannot be read; check its permissions",
                path.string());
  }
  return text.str();
}

std::vector<std::string> OverlayTemplates::names() const {
  std::vector<std::string> result = fallback_->names();
  std::error_code error;
  auto it = std::filesystem::recursive_directory_iterator(directory_, error);
  for (; !error && it != std::filesystem::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored))
      result.push_back(it->path().lexically_relative(directory_).generic_string());
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::optional<std::string> MapTemplates::load(std::string_view name) const {
  auto found = templates_.find(name);
  if (found == templates_.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> MapTemplates::names() const {
  std::vector<std::string> result;
  for (const auto& [name, text] : templates_) result.push_back(name);
  return result;
}

std::shared_ptr<const TemplateLoader> default_templates(
    const std::filesystem::path& overlay_directory) {
  auto embedded = std::make_shared<EmbeddedTemplates>();
  if (overlay_directory.empty()) return embedded;
  return std::make_shared<OverlayTemplates>(overlay_directory, embedded);
}

}  // namespace ffpa_jit::codegen
