// Relocatable object to shared-object image through lld's library.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>

#include <string>

#include "compile/clang/plugin_api.h"

namespace ffpa_jit::clang_plugin {

// Checks that `object` needs nothing but request.imports; a name it may not need goes to `log`.
bool imports_allowed(const ffpa_jit_clang_request& request, llvm::ArrayRef<char> object,
                     std::string* log);

// Links with request.link_arguments. Nothing touches a file system but /proc: lld reads a memfd and
// writes a pipe, so there is no temporary file to leave behind. Same object, same bytes.
ffpa_jit_clang_status link_image(const ffpa_jit_clang_request& request, llvm::ArrayRef<char> object,
                                 llvm::SmallVectorImpl<char>* image, std::string* log);

}  // namespace ffpa_jit::clang_plugin
