// check_elf_image: refuses a damaged kernel image before the loader sees it. Layouts: System V ABI,
// "Object files" and "Program loading and dynamic linking"; GNU hash table as glibc's
// elf/dl-lookup.c reads it.
#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/cpu/kernel_image.h"

namespace ffpa_jit {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr Elf64_Half kMachine = EM_RISCV;
#elif defined(__powerpc64__)
constexpr Elf64_Half kMachine = EM_PPC64;
#else
#error "name this architecture's ELF machine number"
#endif

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
    // Kernels have a handful of pages; this only keeps a damaged size from exhausting the address
    // space.
    constexpr uint64_t kMaxAddress = uint64_t{1} << 32;
    uint64_t last_end = 0;
    for (int i = 0; i < header_.e_phnum; ++i) {
      const auto segment = at_offset<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr),
                                                 "program headers are cut off");
      if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC &&
          segment.p_type != PT_GNU_RELRO)
        continue;
      if (segment.p_vaddr > kMaxAddress || segment.p_memsz > kMaxAddress ||
          segment.p_filesz > segment.p_memsz) {
        refuse("a segment has an impossible size");
      }
      if (segment.p_offset > bytes_.size() || bytes_.size() - segment.p_offset < segment.p_filesz) {
        refuse("a segment is cut off");
      }
      if (segment.p_type == PT_DYNAMIC) {
        dynamic_ = segment;
      } else if (segment.p_type == PT_GNU_RELRO) {
        relro_ = segment;
      } else {
        constexpr uint64_t kPage = 4096;
        const bool power_of_two = (segment.p_align & (segment.p_align - 1)) == 0;
        if (!power_of_two || segment.p_align < kPage || segment.p_align > kMaxAddress ||
            (segment.p_vaddr - segment.p_offset) % segment.p_align != 0 ||
            segment.p_vaddr < last_end) {
          refuse("a segment is misplaced");
        }
        last_end = segment.p_vaddr + segment.p_memsz;
        loads_.push_back(segment);
      }
    }
    if (loads_.empty()) refuse("nothing to load");
    if (dynamic_.p_type != PT_DYNAMIC) refuse("no dynamic section");
    if (relro_.p_type == PT_GNU_RELRO) {
      if (relro_.p_vaddr < loads_.front().p_vaddr ||
          relro_.p_vaddr + relro_.p_memsz > round_up(last_end)) {
        refuse("the read-only segment is misplaced");
      }
    }
  }

  static uint64_t round_up(uint64_t address) { return (address + 0xffff) & ~uint64_t{0xffff}; }

  void check_dynamic() {
    uint64_t value[DT_NUM] = {};
    uint64_t gnu_hash = 0;
    bool ended = false;
    if (offset_of(dynamic_.p_vaddr, dynamic_.p_filesz, "dynamic section is misplaced") !=
        dynamic_.p_offset) {
      refuse("dynamic section is misplaced");
    }
    const uint64_t count = dynamic_.p_filesz / sizeof(Elf64_Dyn);
    for (uint64_t i = 0; i < count && !ended; ++i) {
      const auto entry = at_offset<Elf64_Dyn>(dynamic_.p_offset + i * sizeof(Elf64_Dyn),
                                              "dynamic section is cut off");
      if (entry.d_tag == DT_NULL) ended = true;
      if (entry.d_tag == DT_NEEDED) needed_.push_back(entry.d_un.d_val);
      if (entry.d_tag == DT_GNU_HASH) gnu_hash = entry.d_un.d_val;
      if (entry.d_tag > 0 && entry.d_tag < DT_NUM) value[entry.d_tag] = entry.d_un.d_val;
      // Tables that a self-contained kernel never has, and that the rest of this check does not
      // follow.
      switch (entry.d_tag) {
        case DT_REL:
        case DT_RELR:
        case DT_TEXTREL:
        case DT_VERSYM:
        case DT_VERNEED:
        case DT_VERDEF:
        case DT_AUDIT:
        case DT_DEPAUDIT:
        case DT_FILTER:
        case DT_AUXILIARY:
          refuse("a table of a kind that kernels never have");
        default:
          break;
      }
    }
    if (!ended) refuse("dynamic section has no end");

    strings_ = value[DT_STRTAB];
    strings_size_ = value[DT_STRSZ];
    symbols_ = value[DT_SYMTAB];
    const uint64_t offset = offset_of(strings_, strings_size_, "string table is cut off");
    if (strings_size_ == 0 || bytes_[offset + strings_size_ - 1] != std::byte{0}) {
      refuse("string table has no end");
    }
    for (uint64_t name : needed_) {
      if (name >= strings_size_) refuse("a library name lies outside the string table");
    }
    if (value[DT_SONAME] >= strings_size_) refuse("the name lies outside the string table");

    if (gnu_hash) check_gnu_hash(gnu_hash);
    if (value[DT_HASH]) check_hash(value[DT_HASH]);
    if (!gnu_hash && !value[DT_HASH]) refuse("no symbol hash table");
    for (uint64_t i = 0; i < symbol_count_; ++i) {
      const auto symbol =
          at_address<Elf64_Sym>(symbols_ + i * sizeof(Elf64_Sym), "symbol table is cut off");
      if (symbol.st_name >= strings_size_) refuse("a symbol's name lies outside the string table");
      // An indirect function would run code of the image while it is being loaded.
      if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC)
        refuse("a symbol of a kind that kernels never have");
      if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS)
        check_in_memory(symbol.st_value);
    }
    check_relocations(value[DT_RELA], value[DT_RELASZ]);
    check_relocations(value[DT_JMPREL], value[DT_PLTRELSZ]);
    for (const auto& [address, size] : {std::pair{value[DT_INIT_ARRAY], value[DT_INIT_ARRAYSZ]},
                                        {value[DT_FINI_ARRAY], value[DT_FINI_ARRAYSZ]}}) {
      if (size) offset_of(address, size, "an initialiser table is cut off");
    }
    if (value[DT_INIT]) check_in_memory(value[DT_INIT]);
    if (value[DT_FINI]) check_in_memory(value[DT_FINI]);
    if (value[DT_PLTGOT]) check_in_memory(value[DT_PLTGOT]);
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

  void check_relocations(uint64_t table, uint64_t size) {
    if (size == 0) return;
    offset_of(table, size, "relocation table is cut off");
    for (uint64_t at = table; at + sizeof(Elf64_Rela) <= table + size; at += sizeof(Elf64_Rela)) {
      const auto relocation = at_address<Elf64_Rela>(at, "relocation table is cut off");
      if (ELF64_R_SYM(relocation.r_info) >= std::max<uint64_t>(symbol_count_, 1)) {
        refuse("a relocation names no symbol");
      }
      bool writable = false;
      for (const Elf64_Phdr& load : loads_) {
        writable |= (load.p_flags & PF_W) && relocation.r_offset >= load.p_vaddr &&
                    load.p_memsz >= 8 && relocation.r_offset - load.p_vaddr <= load.p_memsz - 8;
      }
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
  Elf64_Phdr dynamic_{}, relro_{};
  std::vector<uint64_t> needed_;
  uint64_t strings_ = 0, strings_size_ = 0, symbols_ = 0, symbol_count_ = 0;
};

}  // namespace

void check_elf_image(std::span<const std::byte> bytes) { Image(bytes).check(); }

}  // namespace ffpa_jit
