// ElfImage: sections and symbols of a 64-bit ELF file held in memory (cubins, kernel images of the
// CPU). Reads only inside the bytes given, whatever they hold; a malformed file has fewer sections,
// never a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace ffpa_jit {

struct ElfSection {
  std::string_view name;
  uint32_t type = 0;
  uint64_t size = 0;                 // in memory; of a NOBITS section too
  std::span<const std::byte> bytes;  // empty for NOBITS
  uint32_t link = 0;                 // index of the associated section
};

struct ElfSymbol {
  std::string_view name;
  bool defined = false;
};

class ElfImage {
 public:
  // `file` must outlive the image. nullopt: not a little-endian ELF64 file with a section table.
  static std::optional<ElfImage> parse(std::span<const std::byte> file);

  const std::vector<ElfSection>& sections() const { return sections_; }
  const ElfSection* section(std::string_view name) const;
  // Of `table` (".symtab", ".dynsym"), in file order, so that an index is a symbol number.
  std::vector<ElfSymbol> symbols(std::string_view table) const;

 private:
  std::vector<ElfSection> sections_;
};

}  // namespace ffpa_jit
