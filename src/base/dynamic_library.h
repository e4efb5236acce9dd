// A dlopened library that is never a link-time need: libcuda, NVRTC, the Clang plugin, kernel
// images.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ffpa_jit {

class DynamicLibrary {
 public:
  // Tries `names` in order. nullopt when none loads; `reason` then holds the loader's words for
  // each.
  static std::optional<DynamicLibrary> open(const std::vector<std::string>& names,
                                            std::string* reason);

  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  DynamicLibrary(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(const DynamicLibrary&) = delete;
  ~DynamicLibrary();

  // nullptr when the symbol is absent.
  void* symbol(const char* name) const noexcept;
  // The name that loaded.
  const std::string& name() const noexcept { return name_; }
  // Keeps the library mapped until the process ends (compilers and drivers do not survive dlclose).
  void keep_loaded() noexcept { keep_ = true; }

 private:
  DynamicLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}

  void* handle_ = nullptr;
  bool keep_ = false;
  std::string name_;
};

}  // namespace ffpa_jit
