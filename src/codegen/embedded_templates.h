// The table that cmake/EmbedTemplates.cmake generates from templates/ (embedded_templates.cpp in
// the build folder).
#pragma once

#include <cstddef>
#include <span>

namespace ffpa_jit::codegen {

struct EmbeddedTemplate {
  const char* name;
  const unsigned char* bytes;
  size_t size;
};

// Sorted by name.
std::span<const EmbeddedTemplate> embedded_templates();

}  // namespace ffpa_jit::codegen
