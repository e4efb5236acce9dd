// Scopes: decides at parse time which variable each name means, by the rules of Jinja2's compiler
// (its "idtracking"), so that every odd corner agrees: `set` in a loop does not leak, in an `if` it
// does, a macro sees later top-level assignments, and so on. Also checks what Jinja2 checks at this
// point: filter and test names, `loop` as a target.
#pragma once

#include "codegen/ast.h"

namespace ffpa_jit::codegen {

// Fills every VariableRef, Scope and FunctionLayout of `result`. Throws ffpa_jit::Error
// TEMPLATE_ERROR.
void resolve_scopes(Template& result);

}  // namespace ffpa_jit::codegen
