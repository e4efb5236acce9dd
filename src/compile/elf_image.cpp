#include "compile/elf_image.h"

#include <elf.h>

#include <cstring>

namespace ffpa_jit {
namespace {

// A copy of the T at `offset`: the bytes need not be aligned.
template <typename T>
std::optional<T> read_at(std::span<const std::byte> file, uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

std::string_view string_at(std::span<const std::byte> table, uint64_t offset) {
  if (offset >= table.size()) return {};
  const char* text = reinterpret_cast<const char*>(table.data()) + offset;
  return {text, ::strnlen(text, table.size() - offset)};
}

}  // namespace

std::optional<ElfImage> ElfImage::parse(std::span<const std::byte> file) {
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_shoff == 0 || header->e_shentsize != sizeof(Elf64_Shdr)) {
    return std::nullopt;
  }
  ElfImage image;
  std::vector<uint32_t> names;
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const uint64_t place = header->e_shoff + i * sizeof(Elf64_Shdr);
    const auto section = place < header->e_shoff ? std::nullopt : read_at<Elf64_Shdr>(file, place);
    if (!section) return std::nullopt;
    ElfSection out{{}, section->sh_type, section->sh_size, {}, section->sh_link};
    if (section->sh_type != SHT_NOBITS && section->sh_offset <= file.size() &&
        section->sh_size <= file.size() - section->sh_offset) {
      out.bytes = file.subspan(section->sh_offset, section->sh_size);
    }
    image.sections_.push_back(out);
    names.push_back(section->sh_name);
  }
  if (header->e_shstrndx < image.sections_.size()) {
    const std::span<const std::byte> table = image.sections_[header->e_shstrndx].bytes;
    for (size_t i = 0; i < names.size(); ++i) image.sections_[i].name = string_at(table, names[i]);
  }
  return image;
}

const ElfSection* ElfImage::section(std::string_view name) const {
  for (const ElfSection& section : sections_) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

std::vector<ElfSymbol> ElfImage::symbols(std::string_view table) const {
  std::vector<ElfSymbol> out;
  const ElfSection* section = this->section(table);
  if (!section || section->link >= sections_.size()) return out;
  const std::span<const std::byte> names = sections_[section->link].bytes;
  for (uint64_t at = 0; at < section->bytes.size(); at += sizeof(Elf64_Sym)) {
    const auto symbol = read_at<Elf64_Sym>(section->bytes, at);
    if (!symbol) break;
    out.push_back({string_at(names, symbol->st_name), symbol->st_shndx != SHN_UNDEF});
  }
  return out;
}

}  // namespace ffpa_jit
