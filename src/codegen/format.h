// Python's two ways of formatting: "%5.2f" % x, and "{:>8}".format(x).
#pragma once

#include <string>
#include <string_view>

#include "codegen/arguments.h"
#include "codegen/heap.h"
#include "codegen/value.h"

namespace ffpa_jit::codegen {

// format % values
Value format_percent(Heap& heap, const String& format, const Value& values);
// format.format(*args, **kwargs)
Value format_braces(Heap& heap, const String& format, const CallArguments& arguments);

}  // namespace ffpa_jit::codegen
