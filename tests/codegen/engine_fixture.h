// What the tests of the template engine share: render from a map of templates, and catch its error
// text.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "codegen/template_engine.h"

namespace ffpa_jit::codegen {

using Json = nlohmann::ordered_json;
using Templates = std::map<std::string, std::string, std::less<>>;

inline std::string render(Templates templates, const Json& context = {},
                          EngineOptions options = {}) {
  TemplateEngine engine(std::make_shared<MapTemplates>(std::move(templates)), options);
  return engine.render("main", context);
}

// The message of the TEMPLATE_ERROR that rendering must end in.
inline std::string error_of(Templates templates, const Json& context = {},
                            EngineOptions options = {}) {
  try {
    std::string text = render(std::move(templates), context, options);
    ADD_FAILURE() << "rendered without an error: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), FFPA_JIT_TEMPLATE_ERROR);
    return error.what();
  }
  return {};
}

}  // namespace ffpa_jit::codegen
