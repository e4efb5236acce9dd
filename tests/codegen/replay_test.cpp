// Replays the corpus that conformance/record.py recorded from Python's jinja2.
#include <fstream>

#include "codegen/engine_fixture.h"

namespace ffpa_jit::codegen {
namespace {

TEST(Conformance, CorpusGivesWhatJinjaGave) {
  std::ifstream file(FFPA_JIT_TEST_CASES);
  ASSERT_TRUE(file) << FFPA_JIT_TEST_CASES;
  Json corpus = Json::parse(file);
  size_t outputs = 0, errors = 0;
  for (const Json& entry : corpus["cases"]) {
    std::string name = entry["name"];
    SCOPED_TRACE(name + ": " + entry["templates"].dump());
    Templates templates;
    for (const auto& [key, text] : entry["templates"].items())
      templates[key] = text.get<std::string>();
    TemplateEngine engine(std::make_shared<MapTemplates>(templates));
    try {
      std::string output = engine.render(entry["main"].get<std::string>(), corpus["context"]);
      if (entry.contains("error")) {
        ADD_FAILURE() << "jinja2 raises here; the engine gave: " << output;
      } else {
        EXPECT_EQ(output, entry["output"].get<std::string>());
        ++outputs;
      }
    } catch (const Error& error) {
      EXPECT_TRUE(entry.contains("error")) << error.what();
      EXPECT_EQ(error.code(), FFPA_JIT_TEMPLATE_ERROR);
      ++errors;
    }
  }
  // The corpus is there, and both kinds of case are.
  EXPECT_GE(outputs, 300u);
  EXPECT_GE(errors, 100u);
}

}  // namespace
}  // namespace ffpa_jit::codegen
