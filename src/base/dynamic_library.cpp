#include "base/dynamic_library.h"

#include <dlfcn.h>

#include <utility>

namespace ffpa_jit {

std::optional<DynamicLibrary> DynamicLibrary::open(const std::vector<std::string>& names,
                                                   std::string* reason) {
  if (reason) reason->clear();
  for (const std::string& name : names) {
    if (void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return DynamicLibrary(handle, name);
    }
    if (!reason) continue;
    const char* why = ::dlerror();
    if (!reason->empty()) *reason += "; ";
    *reason += why ? why : name + ": unknown loader error";
  }
  return std::nullopt;
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      keep_(other.keep_),
      name_(std::move(other.name_)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(keep_, other.keep_);
  std::swap(name_, other.name_);
  return *this;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ && !keep_) ::dlclose(handle_);
}

void* DynamicLibrary::symbol(const char* name) const noexcept {
  return handle_ ? ::dlsym(handle_, name) : nullptr;
}

}  // namespace ffpa_jit
