// Source to relocatable object through Clang's library, all in memory.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include <string>

#include "compile/clang/plugin_api.h"

namespace ffpa_jit::clang_plugin {

// Appends diagnostics to `log`, in the form "templates/cpu/x.j2:12:5: error: ...", positions after
// #line.
ffpa_jit_clang_status compile_object(const ffpa_jit_clang_request& request,
                                     llvm::SmallVectorImpl<char>* object, std::string* log);

}  // namespace ffpa_jit::clang_plugin
