// Any bytes given as a template either render or end in an Error TEMPLATE_ERROR; with line
// directives the text is the same but for them. Run by libFuzzer, and by tests/codegen with bounded
// mutations.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "codegen/template_engine.h"

// How many inputs rendered: lets the bounded run show that it tried more than garbage.
int64_t fuzz_template_rendered = 0;

namespace {

using namespace ffpa_jit;

std::string without_directives(const std::string& text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    if (!std::string_view(text).substr(begin).starts_with("#line "))
      out.append(text, begin, end - begin);
    begin = end;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  static const nlohmann::ordered_json context = {{"n", 7},
                                                 {"x", 2.5},
                                                 {"s", "hello w\xc3\xb6rld"},
                                                 {"flag", true},
                                                 {"nothing", nullptr},
                                                 {"items", {3, 1, 2}},
                                                 {"d", {{"b", 2}, {"a", 1}}},
                                                 {"users", {{{"name", "bob"}, {"age", 30}}}}};
  codegen::EngineOptions options;
  options.limits.steps = 20'000;
  options.limits.memory_bytes = 4 << 20;
  options.limits.output_bytes = 1 << 20;
  std::string plain;
  try {
    codegen::TemplateEngine engine(
        std::make_shared<codegen::MapTemplates>(std::map<std::string, std::string, std::less<>>{
            {"main", text},
            {"part", "[{{ n }}]\n"},
            {"lib", "{% macro f(a) %}<{{ a }}>\n{% endmacro %}{% set k = 1 %}"}}),
        options);
    plain = engine.render("main", context);
    ++fuzz_template_rendered;
    // Tracking lines takes memory of its own, so only the text can be compared, not the limit.
    std::string directed = engine.render_with_lines("main", context);
    if (text.find("#line ") == std::string::npos && plain.find("#line ") == std::string::npos &&
        without_directives(directed) != plain) {
      std::abort();
    }
  } catch (const Error& error) {
    if (error.code() != FFPA_JIT_TEMPLATE_ERROR || std::string_view(error.what()).empty())
      std::abort();
  }
  return 0;
}
