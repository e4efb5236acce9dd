// Generator: a kernel's source text from a template and the facts about the problem. Deterministic:
// the same template and context give the same bytes, so the text can be the cache key.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "codegen/template_engine.h"
#include "kernel/kernel_source.h"
#include "problem/target.h"

namespace ffpa_jit::codegen {

// The source carries `#line` directives, so that compilers and profilers point at the template.
// `entry` is the extern "C" symbol; the template sees it as {{ entry }} unless the context has an
// `entry` of its own. Throws Error TEMPLATE_ERROR.
KernelSource generate(const TemplateEngine& engine, const std::string& template_name,
                      const nlohmann::ordered_json& context, const std::string& entry,
                      const Target& target);

}  // namespace ffpa_jit::codegen
