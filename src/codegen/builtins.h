// Global functions: range, dict, namespace, cycler, joiner.
#pragma once

#include <memory>

#include "codegen/heap.h"
#include "codegen/interpreter_objects.h"

namespace ffpa_jit::codegen {

std::shared_ptr<const Names> make_globals(Heap& heap);

}  // namespace ffpa_jit::codegen
