#include "compile/clang_plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ffpa_jit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFileName = "libffpa_jit_clang.so";
// Installed: beside the library, or in its private folder; the last two are a program's view, and a
// build tree's.
constexpr std::array<const char*, 5> kPlaces = {".", "ffpa_jit", "../lib/ffpa_jit", "../lib",
                                                "../../lib/ffpa_jit"};

// The folder of the file that this code was loaded from.
fs::path own_folder() {
  Dl_info info;
  link_map* map = nullptr;
  const auto* self = reinterpret_cast<void*>(&own_folder);
  std::error_code failed;
  fs::path file;
  if (::dladdr1(self, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) && map &&
      map->l_name[0] != '\0') {
    file = fs::canonical(map->l_name, failed);
  } else {  // the program itself: its recorded name may be relative to a folder left since
    file = fs::read_symlink("/proc/self/exe", failed);
  }
  return failed ? fs::path() : file.parent_path();
}

std::vector<std::string> candidates(const std::string& chosen) {
  if (!chosen.empty()) return {chosen};
  std::vector<std::string> out;
  const fs::path folder = own_folder();
  for (const char* place : kPlaces) {
    out.push_back((folder / place / kFileName).lexically_normal().string());
  }
  return out;
}

}  // namespace

std::shared_ptr<const ClangPlugin> ClangPlugin::load(const std::string& chosen,
                                                     std::string* reason) {
  const std::vector<std::string> names = candidates(chosen);
  std::vector<std::string> present;
  std::error_code ignored;
  for (const std::string& name : names) {
    if (fs::exists(name, ignored)) present.push_back(name);
  }
  if (present.empty()) {
    *reason =
        fmt::format("the Clang plugin is not installed; looked for {}", fmt::join(names, ", "));
    return nullptr;
  }
  std::string why;
  std::optional<DynamicLibrary> library = DynamicLibrary::open(present, &why);
  if (!library) {
    *reason = "the Clang plugin does not load: " + why;
    return nullptr;
  }
  library->keep_loaded();
  std::shared_ptr<ClangPlugin> out(new ClangPlugin(*std::move(library)));
  const auto entry = reinterpret_cast<ffpa_jit_clang_plugin_function>(
      out->library_.symbol(FFPA_JIT_CLANG_PLUGIN_SYMBOL));
  out->api_ = entry ? entry() : nullptr;
  if (!out->api_ || out->api_->abi != FFPA_JIT_CLANG_ABI) {
    *reason = fmt::format("{} belongs to another version of this library (interface {}, needed {})",
                          out->path(), out->api_ ? out->api_->abi : 0, FFPA_JIT_CLANG_ABI);
    return nullptr;
  }
  return out;
}

}  // namespace ffpa_jit
