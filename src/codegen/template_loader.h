// Where template text comes from: the templates embedded in the library, a directory laid over them
// for kernel authors, or a map in tests. Names are relative to templates/:
// "cpu/attention_forward.cpp.j2", "common/params.h".
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ffpa_jit::codegen {

class TemplateLoader {
 public:
  virtual ~TemplateLoader() = default;

  // nullopt when there is no template of this name. Thread-safe. May throw Error TEMPLATE_ERROR or
  // IO_ERROR.
  virtual std::optional<std::string> load(std::string_view name) const = 0;
  // Every template that can be loaded, sorted.
  virtual std::vector<std::string> names() const = 0;
};

// All files under templates/, as they were when the library was built.
class EmbeddedTemplates : public TemplateLoader {
 public:
  std::optional<std::string> load(std::string_view name) const override;
  std::vector<std::string> names() const override;
};

// Files of `directory` win over those of `fallback`. Names that would leave the directory are
// refused.
class OverlayTemplates : public TemplateLoader {
 public:
  // Throws Error IO_ERROR when `directory` is not a directory.
  OverlayTemplates(std::filesystem::path directory, std::shared_ptr<const TemplateLoader> fallback);
  std::optional<std::string> load(std::string_view name) const override;
  std::vector<std::string> names() const override;

 private:
  std::filesystem::path directory_;
  std::shared_ptr<const TemplateLoader> fallback_;
};

class MapTemplates : public TemplateLoader {
 public:
  explicit MapTemplates(std::map<std::string, std::string, std::less<>> templates)
      : templates_(std::move(templates)) {}
  std::optional<std::string> load(std::string_view name) const override;
  std::vector<std::string> names() const override;

 private:
  std::map<std::string, std::string, std::less<>> templates_;
};

// The embedded templates, under `overlay_directory` if that is not empty (FFPA_JIT_TEMPLATE_DIR).
std::shared_ptr<const TemplateLoader> default_templates(
    const std::filesystem::path& overlay_directory);

}  // namespace ffpa_jit::codegen
