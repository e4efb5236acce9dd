// Values as text: str(), repr() and JSON, with Python's spelling.
#pragma once

#include <string>

#include "codegen/heap.h"
#include "codegen/value.h"

namespace ffpa_jit::codegen {

// str(x). Throws for undefined values, and for values whose text would be a memory address.
std::string str_of(Heap& heap, const Value& value);
void append_str(Heap& heap, std::string& out, const Value& value);
// repr(x)
std::string repr_of(Heap& heap, const Value& value);
// soft_str(x): the value itself when it is text.
const String& text_of(Heap& heap, const Value& value);

// The shortest digits that read back as the same float: 1.0, 0.1, 1e+16, inf, nan.
std::string float_repr(double value);
// 'text' with Python's quotes and escapes.
std::string quoted(std::string_view text);

// json.dumps(x, sort_keys=True, indent=...), HTML-unsafe characters as \uXXXX. `indent` none: one
// line.
std::string to_json(Heap& heap, const Value& value, const Value& indent);

}  // namespace ffpa_jit::codegen
