#include "device/emulator/shared_variables.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

namespace ffpa_jit::emulator {
namespace {

constexpr std::string_view kControlPrefix = "__emutls_v.";

template <typename T>
std::optional<T> read_at(std::span<const std::byte> image, uint64_t offset) {
  if (offset > image.size() || image.size() - offset < sizeof(T)) return std::nullopt;
  T out;
  std::memcpy(&out, image.data() + offset, sizeof(T));
  return out;
}

std::string_view text_at(std::span<const std::byte> image, const Elf64_Shdr& strings,
                         uint64_t index) {
  if (strings.sh_offset > image.size() || image.size() - strings.sh_offset < strings.sh_size ||
      index >= strings.sh_size)
    return {};
  const char* begin = reinterpret_cast<const char*>(image.data()) + strings.sh_offset + index;
  const void* end = std::memchr(begin, 0, strings.sh_size - index);
  return end ? std::string_view(begin, static_cast<size_t>(static_cast<const char*>(end) - begin))
             : std::string_view();
}

std::string readable(std::string_view mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(std::string(mangled).c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? plain.get() : std::string(mangled);
}

}  // namespace

std::vector<SharedVariable> shared_variables(std::span<const std::byte> image) {
  std::vector<SharedVariable> out;
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  if (!header || header->e_shentsize != sizeof(Elf64_Shdr)) return out;
  const auto section = [&](uint64_t index) {
    return read_at<Elf64_Shdr>(image, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto table = section(i);
    if (!table || table->sh_type != SHT_SYMTAB) continue;
    const auto strings = section(table->sh_link);
    if (!strings) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read_at<Elf64_Sym>(image, table->sh_offset + at);
      if (!symbol) break;
      const std::string_view name = text_at(image, *strings, symbol->st_name);
      if (!name.starts_with(kControlPrefix) || symbol->st_shndx == SHN_UNDEF) continue;
      out.push_back({readable(name.substr(kControlPrefix.size())), symbol->st_value});
    }
  }
  std::sort(out.begin(), out.end(),
            [](const SharedVariable& a, const SharedVariable& b) { return a.control < b.control; });
  return out;
}

}  // namespace ffpa_jit::emulator
