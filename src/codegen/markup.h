// Markup: text that `tojson`, `safe` and `escape` return. Nothing is escaped automatically here,
// but adding plain text to Markup escapes it, as Python's markupsafe does.
#pragma once

#include "codegen/heap.h"
#include "codegen/value.h"

namespace ffpa_jit::codegen {

// & < > " ' as entities.
std::string escape_html(std::string_view text);
// a + b
Value concatenate_text(Heap& heap, const String& a, const String& b);

}  // namespace ffpa_jit::codegen
