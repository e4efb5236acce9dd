// HACKING.md: a folder of src/ includes only folders below it. The list there, checked.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace ffpa_jit {
namespace {

// From the top down.
constexpr std::array<std::string_view, 14> kLayers = {
    "api",   "runtime", "tune",     "policy", "plan",      "codegen", "compile",
    "cache", "device",  "portable", "kernel", "reference", "problem", "base"};

size_t layer_of(std::string_view folder) {
  return static_cast<size_t>(std::find(kLayers.begin(), kLayers.end(), folder) - kLayers.begin());
}

TEST(Layers, AFolderIncludesOnlyFoldersBelowIt) {
  const std::filesystem::path source = FFPA_TEST_SOURCE;
  int includes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(source)) {
    const std::string extension = file.path().extension();
    if (extension != ".cpp" && extension != ".h") continue;
    const std::string path = std::filesystem::relative(file.path(), source).string();
    const size_t own = layer_of(path.substr(0, path.find('/')));
    EXPECT_LT(own, kLayers.size()) << path << ": its folder has no place in the list";
    std::ifstream text(file.path());
    for (std::string line; std::getline(text, line);) {
      constexpr std::string_view kInclude = "#include \"";
      if (!line.starts_with(kInclude)) continue;
      const std::string name = line.substr(kInclude.size(), line.find('/') - kInclude.size());
      const size_t other = layer_of(name);
      if (other == kLayers.size()) continue;  // include/, templates/, or the folder's own
      ++includes;
      EXPECT_GE(other, own) << path << " includes " << name << "/";
    }
  }
  EXPECT_GT(includes, 500);
}

}  // namespace
}  // namespace ffpa_jit
