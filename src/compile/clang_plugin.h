// Finding and loading libffpa_jit_clang.so.
#pragma once

#include <memory>
#include <string>

#include "base/dynamic_library.h"
#include "compile/clang/plugin_api.h"

namespace ffpa_jit {

// Loaded once, kept mapped until the process ends.
class ClangPlugin {
 public:
  // `chosen` if given, and nothing else then; otherwise beside the file that holds this
  // code (libffpa_jit.so, or the program), then in ffpa_jit/, ../lib/ffpa_jit/, ../lib/,
  // ../../lib/ffpa_jit/ seen from there. nullptr with a reason where there is none, or it does not
  // load (LLVM is missing), or it is another version's.
  static std::shared_ptr<const ClangPlugin> load(const std::string& chosen, std::string* reason);

  const ffpa_jit_clang_api& api() const { return *api_; }
  const std::string& path() const { return library_.name(); }

 private:
  explicit ClangPlugin(DynamicLibrary library) : library_(std::move(library)) {}

  DynamicLibrary library_;
  const ffpa_jit_clang_api* api_ = nullptr;
};

}  // namespace ffpa_jit
