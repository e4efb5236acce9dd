#include "compile/source_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "compile/clang_plugin.h"

namespace ffpa_jit {

std::string source_place(const std::string& clang_plugin, std::span<const std::byte> image,
                         uint64_t address) {
  std::string reason;
  const auto plugin = ClangPlugin::load(clang_plugin, &reason);
  if (!plugin) return "";
  std::array<char, 8192> text;
  const size_t length =
      plugin->api().describe_address(reinterpret_cast<const uint8_t*>(image.data()), image.size(),
                                     address, text.data(), text.size());
  std::string innermost;
  for (std::string_view rest(text.data(), length); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos) continue;
    const std::string place = fmt::format("{} ({})", line.substr(0, tab), line.substr(tab + 1));
    if (innermost.empty()) innermost = place;
    if (line.find("/lib/") == std::string_view::npos) return place;
  }
  return innermost;
}

}  // namespace ffpa_jit
