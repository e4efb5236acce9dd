// check_elf_image: refuses a damaged kernel image before the loader sees it. Layouts: System V ABI,
// "Object files" and "Program loading and dynamic linking"; GNU hash table as glibc's
// elf/dl-lookup.c reads it.
#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "device/cpu/kernel_image.h"

namespace ffpa_jit {
namespace {

// Generated CPU kernels exist for x86-64 only (problem/target.h); elsewhere every image is for the
// wrong machine.
constexpr Elf64_Half kMachine = EM_X86_64;
constexpr uint64_t kPage = 4096;
// Kernels have a handful of pages; this only keeps a damaged size from exhausting the address
// space.
constexpr uint64_t kMaxAddress = uint64_t{1} << 32;
constexpr uint64_t kRelative = R_X86_64_RELATIVE;
constexpr uint64_t kRelocations[] = {R_X86_64_NONE, R_X86_64_RELATIVE, R_X86_64_64,
                                     R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT};

[[noreturn]] void refuse(std::string_view what) {
  throw_error(FFPA_JIT_DEVICE_ERROR,
              "a kernel image is damaged: {}; remove it with `ffpa-jit cache clear`, so that it is "
              "compiled anew",
              what);
}

class Image {
 public:
  explicit Image(std::span<const std::byte> bytes) : bytes_(bytes) {}

  void check() {
    check_header();
    check_segments();
    check_dynamic();
  }

 private:
  template <typename T>
  T at_offset(uint64_t offset, std::string_view what) const {
    T out;
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) refuse(what);
    std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return out;
  }

  // Where an address of the loaded image lies in the file. The whole range must come from the file.
  uint64_t offset_of(uint64_t address, uint64_t size, std::string_view what) const {
    for (const Elf64_Phdr& load : loads_) {
      if (address < load.p_vaddr || address - load.p_vaddr > load.p_filesz) continue;
      if (load.p_filesz - (address - load.p_vaddr) < size) continue;
      return load.p_offset + (address - load.p_vaddr);
    }
    refuse(what);
  }

  template <typename T>
  T at_address(uint64_t address, std::string_view what) const {
    return at_offset<T>(offset_of(address, sizeof(T), what), what);
  }

  void check_header() {
    header_ = at_offset<Elf64_Ehdr>(0, "shorter than an ELF header");
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) refuse("no ELF file");
    constexpr unsigned char kEndian =
        std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != kEndian ||
        header_.e_ident[EI_VERSION] != EV_CURRENT || header_.e_version != EV_CURRENT) {
      refuse("not a 64-bit ELF file of this machine's byte order");
    }
    if (header_.e_type != ET_DYN) refuse("not a shared object");
    if (header_.e_machine != kMachine) {
      throw_error(
          FFPA_JIT_DEVICE_ERROR,
          "a kernel image is for ELF machine {}, this one is {}; compile it for this target",
          header_.e_machine, kMachine);
    }
    if (header_.e_phentsize != sizeof(Elf64_Phdr)) refuse("wrong size of program headers");
  }

  void check_segments() {
    uint64_t last_end = 0;
    for (int i = 0; i < header_.e_phnum; ++i) {
      const auto segment = at_offset<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr),
                                                 "program headers are cut off");
      if (segment.p_type == PT_NULL || segment.p_type == PT_GNU_STACK) continue;  // no contents
      if (segment.p_vaddr > kMaxAddress || segment.p_memsz > kMaxAddress ||
          segment.p_filesz > segment.p_memsz) {
        refuse("a segment has an impossible size");
      }
      if (segment.p_offset > bytes_.size() || bytes_.size() - segment.p_offset < segment.p_filesz) {
        refuse("a segment is cut off");
      }
      switch (segment.p_type) {
        case PT_LOAD:
          check_load(segment, last_end);
          last_end = segment.p_vaddr + segment.p_memsz;
          loads_.push_back(segment);
          break;
        case PT_DYNAMIC:
          dynamic_ = segment;
          break;
        case PT_GNU_RELRO:
        case PT_PHDR:
        case PT_NOTE:
        case PT_GNU_PROPERTY:
        case PT_GNU_EH_FRAME:
          parts_.push_back(segment);
          break;
        default:
          refuse("a segment of a kind that kernels never have");
      }
    }
    if (loads_.empty()) refuse("nothing to load");
    if (dynamic_.p_type != PT_DYNAMIC) refuse("no dynamic section");
    for (const Elf64_Phdr& part : parts_) {
      if (part.p_type != PT_GNU_RELRO) {
        if (offset_of(part.p_vaddr, part.p_filesz, "a segment is misplaced") != part.p_offset) {
          refuse("a segment is misplaced");
        }
        continue;
      }
      // Made read-only by whole pages.
      const bool inside = std::any_of(loads_.begin(), loads_.end(), [&](const Elf64_Phdr& load) {
        const uint64_t end = (load.p_vaddr + load.p_memsz + kPage - 1) / kPage * kPage;
        return (load.p_flags & PF_W) && part.p_vaddr >= load.p_vaddr &&
               part.p_vaddr + part.p_memsz <= end;
      });
      if (!inside) refuse("the read-only segment is misplaced");
    }
  }

  static void check_load(const Elf64_Phdr& segment, uint64_t last_end) {
    const bool power_of_two = (segment.p_align & (segment.p_align - 1)) == 0;
    if (!power_of_two || segment.p_align < kPage || segment.p_align > kMaxAddress ||
        (segment.p_vaddr - segment.p_offset) % segment.p_align != 0 || segment.p_vaddr < last_end) {
      refuse("a segment is misplaced");
    }
  }

  // Every entry that a self-contained kernel may have; any other is damage, or a table that the
  // loader would follow and this check would not.
  static bool is_known(Elf64_Sxword tag) {
    switch (tag) {
      case DT_NULL:
      case DT_NEEDED:
      case DT_PLTRELSZ:
      case DT_PLTGOT:
      case DT_HASH:
      case DT_STRTAB:
      case DT_SYMTAB:
      case DT_RELA:
      case DT_RELASZ:
      case DT_RELAENT:
      case DT_STRSZ:
      case DT_SYMENT:
      case DT_INIT:
      case DT_FINI:
      case DT_SONAME:
      case DT_PLTREL:
      case DT_JMPREL:
      case DT_BIND_NOW:
      case DT_INIT_ARRAY:
      case DT_FINI_ARRAY:
      case DT_INIT_ARRAYSZ:
      case DT_FINI_ARRAYSZ:
      case DT_FLAGS:
      case DT_FLAGS_1:
      case DT_RELACOUNT:
      case DT_GNU_HASH:
        return true;
      default:
        return false;
    }
  }

  void check_dynamic() {
    if (offset_of(dynamic_.p_vaddr, dynamic_.p_filesz, "dynamic section is misplaced") !=
        dynamic_.p_offset) {
      refuse("dynamic section is misplaced");
    }
    std::map<Elf64_Sxword, uint64_t> entries;
    std::vector<uint64_t> names;
    for (uint64_t at = dynamic_.p_offset;; at += sizeof(Elf64_Dyn)) {
      if (at + sizeof(Elf64_Dyn) > dynamic_.p_offset + dynamic_.p_filesz)
        refuse("dynamic section has no end");
      const auto entry = at_offset<Elf64_Dyn>(at, "dynamic section is cut off");
      if (!is_known(entry.d_tag)) refuse("dynamic section has an entry that kernels never have");
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_NEEDED || entry.d_tag == DT_SONAME) names.push_back(entry.d_un.d_val);
      if (!entries.emplace(entry.d_tag, entry.d_un.d_val).second && entry.d_tag != DT_NEEDED) {
        refuse("dynamic section has an entry twice");
      }
    }
    const auto value = [&](Elf64_Sxword tag) { return entries.contains(tag) ? entries[tag] : 0; };

    check_strings(value(DT_STRTAB), value(DT_STRSZ), names);
    if (value(DT_GNU_HASH)) check_gnu_hash(value(DT_GNU_HASH));
    if (value(DT_HASH)) check_hash(value(DT_HASH));
    if (symbol_count_ == 0) refuse("no symbol hash table");
    if (value(DT_SYMENT) != sizeof(Elf64_Sym)) refuse("wrong size of symbols");
    check_symbols(value(DT_SYMTAB));
    if (value(DT_RELASZ) && value(DT_RELAENT) != sizeof(Elf64_Rela))
      refuse("wrong size of relocations");
    if (value(DT_PLTRELSZ) && value(DT_PLTREL) != DT_RELA) refuse("relocations of another kind");
    check_relocations(value(DT_RELA), value(DT_RELASZ), value(DT_RELACOUNT));
    check_relocations(value(DT_JMPREL), value(DT_PLTRELSZ), 0);
    if (value(DT_INIT_ARRAYSZ)) {
      offset_of(value(DT_INIT_ARRAY), value(DT_INIT_ARRAYSZ), "an initialiser table is cut off");
    }
    if (value(DT_FINI_ARRAYSZ)) {
      offset_of(value(DT_FINI_ARRAY), value(DT_FINI_ARRAYSZ), "an initialiser table is cut off");
    }
    for (Elf64_Sxword tag : {DT_INIT, DT_FINI, DT_PLTGOT}) {
      if (value(tag)) check_in_memory(value(tag));
    }
  }

  void check_strings(uint64_t table, uint64_t size, const std::vector<uint64_t>& names) {
    if (table == 0 || size == 0) refuse("no string table");
    const uint64_t offset = offset_of(table, size, "string table is cut off");
    if (bytes_[offset + size - 1] != std::byte{0}) refuse("string table has no end");
    for (uint64_t name : names) {
      if (name >= size) refuse("a library name lies outside the string table");
    }
    strings_size_ = size;
  }

  void check_symbols(uint64_t table) const {
    if (table == 0) refuse("no symbol table");
    for (uint64_t i = 0; i < symbol_count_; ++i) {
      const auto symbol =
          at_address<Elf64_Sym>(table + i * sizeof(Elf64_Sym), "symbol table is cut off");
      if (symbol.st_name >= strings_size_) refuse("a symbol's name lies outside the string table");
      // The loader calls an indirect function while it resolves, and gives thread-local symbols
      // special treatment.
      const unsigned kind = ELF64_ST_TYPE(symbol.st_info);
      if (kind != STT_NOTYPE && kind != STT_OBJECT && kind != STT_FUNC && kind != STT_SECTION) {
        refuse("a symbol of a kind that kernels never have");
      }
      if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS)
        check_in_memory(symbol.st_value);
    }
  }

  void check_gnu_hash(uint64_t table) {
    const auto buckets = at_address<uint32_t>(table, "hash table is cut off");
    const auto first_symbol = at_address<uint32_t>(table + 4, "hash table is cut off");
    const auto bloom_words = at_address<uint32_t>(table + 8, "hash table is cut off");
    if (buckets == 0 || bloom_words == 0 || (bloom_words & (bloom_words - 1)) != 0)
      refuse("hash table is empty");
    const uint64_t bucket_table = table + 16 + uint64_t{bloom_words} * 8;
    const uint64_t chains = bucket_table + uint64_t{buckets} * 4;
    uint64_t last = 0;
    for (uint64_t i = 0; i < buckets; ++i) {
      const auto begin = at_address<uint32_t>(bucket_table + i * 4, "hash table is cut off");
      if (begin == 0) continue;
      if (begin < first_symbol) refuse("hash table is inconsistent");
      uint64_t symbol = begin;
      while (
          (at_address<uint32_t>(chains + (symbol - first_symbol) * 4, "a hash chain has no end") &
           1) == 0)
        ++symbol;
      last = std::max(last, symbol);
    }
    symbol_count_ = std::max({symbol_count_, last + 1, uint64_t{first_symbol}});
  }

  void check_hash(uint64_t table) {
    const auto buckets = at_address<uint32_t>(table, "hash table is cut off");
    const auto chains = at_address<uint32_t>(table + 4, "hash table is cut off");
    if (buckets == 0) refuse("hash table is empty");
    const uint64_t words = uint64_t{buckets} + chains;
    offset_of(table + 8, words * 4, "hash table is cut off");
    for (uint64_t i = 0; i < words; ++i) {
      if (at_address<uint32_t>(table + 8 + i * 4, "hash table is cut off") >= chains) {
        refuse("hash table is inconsistent");
      }
    }
    // A chain that loops would keep the loader busy for ever: none is longer than the table.
    for (uint64_t i = 0; i < buckets; ++i) {
      auto symbol = at_address<uint32_t>(table + 8 + i * 4, "hash table is cut off");
      for (uint64_t steps = 0; symbol != 0; ++steps) {
        if (steps > chains) refuse("a hash chain has no end");
        symbol = at_address<uint32_t>(table + 8 + (uint64_t{buckets} + symbol) * 4,
                                      "hash table is cut off");
      }
    }
    symbol_count_ = std::max(symbol_count_, uint64_t{chains});
  }

  // The first `relative_count` are applied without a look at their kind.
  void check_relocations(uint64_t table, uint64_t size, uint64_t relative_count) const {
    if (size == 0) return;
    const uint64_t count = size / sizeof(Elf64_Rela);
    if (size % sizeof(Elf64_Rela) != 0 || relative_count > count)
      refuse("relocation table has a wrong size");
    offset_of(table, size, "relocation table is cut off");
    for (uint64_t i = 0; i < count; ++i) {
      const auto relocation =
          at_address<Elf64_Rela>(table + i * sizeof(Elf64_Rela), "relocation table is cut off");
      const uint64_t kind = ELF64_R_TYPE(relocation.r_info);
      if (i < relative_count && kind != kRelative) refuse("a relocation is of the wrong kind");
      if (std::find(std::begin(kRelocations), std::end(kRelocations), kind) ==
          std::end(kRelocations)) {
        refuse("a relocation of a kind that kernels never have");
      }
      if (ELF64_R_SYM(relocation.r_info) >= symbol_count_) refuse("a relocation names no symbol");
      const bool writable = std::any_of(loads_.begin(), loads_.end(), [&](const Elf64_Phdr& load) {
        return (load.p_flags & PF_W) && load.p_memsz >= 8 && relocation.r_offset >= load.p_vaddr &&
               relocation.r_offset - load.p_vaddr <= load.p_memsz - 8;
      });
      if (!writable) refuse("a relocation lies outside the data");
    }
  }

  void check_in_memory(uint64_t address) const {
    for (const Elf64_Phdr& load : loads_) {
      if (address >= load.p_vaddr && address - load.p_vaddr <= load.p_memsz) return;
    }
    refuse("an address lies outside the image");
  }

  std::span<const std::byte> bytes_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> loads_;
  std::vector<Elf64_Phdr> parts_;  // segments inside the loaded ones
  Elf64_Phdr dynamic_{};
  uint64_t strings_size_ = 0, symbol_count_ = 0;
};

}  // namespace

void check_elf_image(std::span<const std::byte> bytes) { Image(bytes).check(); }

}  // namespace ffpa_jit
