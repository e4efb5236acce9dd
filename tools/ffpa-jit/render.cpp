// ffpa-jit render: a template and a context, rendered as the library renders them (for template
// authors, and to compare with Python's jinja2: StrictUndefined, keep_trailing_newline,
// trim_blocks, lstrip_blocks, line_statement_prefix //%).
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "codegen/template_engine.h"
#include "codegen/template_loader.h"
#include "ffpa-jit/output.h"
#include "ffpa-jit/session.h"
#include "io/file.h"
#include "policy/environment.h"

namespace ffpa_jit::cli {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kContextLimit = uint64_t{64} << 20;

struct RenderOptions {
  std::string template_name;
  fs::path context, root;
  bool line_directives = false;
};

nlohmann::ordered_json read_context(const fs::path& path) {
  if (path.empty()) return nlohmann::ordered_json::object();
  try {
    auto context = nlohmann::ordered_json::parse(io::read_text(path, kContextLimit));
    if (!context.is_object())
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: a JSON object is expected", path.string());
    return context;
  } catch (const nlohmann::json::exception& error) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "{}: not valid JSON: {}", path.string(), error.what());
  }
}

// Where a template file's includes begin: --root, else the last "templates" folder above it, else
// its own folder.
fs::path root_of(const fs::path& file, const fs::path& given) {
  if (!given.empty()) return fs::weakly_canonical(given);
  for (fs::path folder = file.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if (folder.filename() == "templates") return folder;
  }
  return file.parent_path();
}

int render(const Session& session, const RenderOptions& options) {
  std::shared_ptr<const codegen::TemplateLoader> loader =
      codegen::default_templates(Environment::read().template_dir);
  std::string name = options.template_name;
  if (fs::is_regular_file(name)) {
    const fs::path file = fs::weakly_canonical(name);
    const fs::path root = root_of(file, options.root);
    name = file.lexically_relative(root).generic_string();
    if (name.starts_with("..")) {
      throw_error(FFPA_JIT_INVALID_ARGUMENT, "{} does not lie below --root {}", file.string(),
                  root.string());
    }
    loader = std::make_shared<codegen::OverlayTemplates>(root, std::move(loader));
  }
  codegen::EngineOptions engine_options;
  engine_options.line_directives = options.line_directives;
  const codegen::TemplateEngine engine(std::move(loader), engine_options);
  const std::string text = engine.render(name, read_context(options.context));
  if (session.json) {
    print_json({{"template", name}, {"text", text}});
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);  // bytes as they are, nothing added
  }
  return kOk;
}

}  // namespace

void add_render_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<RenderOptions>();
  CLI::App* command =
      app.add_subcommand("render",
                         "Render a template with a context, byte for byte as jinja2 does with "
                         "StrictUndefined, keep_trailing_newline,\n"
                         "trim_blocks, lstrip_blocks and the line statement prefix //%.");
  command
      ->add_option("TEMPLATE", options->template_name,
                   "A file, or the name of an embedded template such as cuda/sdpa_forward.cu.j2")
      ->required();
  command
      ->add_option("--context", options->context,
                   "A JSON file whose object is the context (default: empty)")
      ->type_name("FILE.json");
  command
      ->add_option("--root", options->root,
                   "Where the names of includes begin (default: the folder \"templates\" above the "
                   "file, else its own); "
                   "names not found there are looked up among the embedded templates")
      ->type_name("DIR");
  command->add_flag("--line-directives", options->line_directives,
                    "Emit #line N \"template\", as for compilers");
  add_common_options(*command, session);
  command->callback([options, &session] {
    session.action = [options, &session] { return render(session, *options); };
  });
}

}  // namespace ffpa_jit::cli
