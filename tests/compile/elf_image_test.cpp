#include "compile/elf_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

namespace ffpa_jit {
namespace {

// This test program is an ELF file with known sections.
std::vector<std::byte> own_file() {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  const std::vector<char> bytes(std::istreambuf_iterator<char>(in), {});
  std::vector<std::byte> out(bytes.size());
  std::transform(bytes.begin(), bytes.end(), out.begin(), [](char c) { return std::byte(c); });
  return out;
}

TEST(ElfImage, FindsSectionsAndSymbols) {
  const std::vector<std::byte> file = own_file();
  const auto elf = ElfImage::parse(file);
  ASSERT_TRUE(elf);
  ASSERT_TRUE(elf->section(".text"));
  EXPECT_GT(elf->section(".text")->size, 1000u);
  EXPECT_EQ(elf->section(".text")->bytes.size(), elf->section(".text")->size);
  ASSERT_TRUE(elf->section(".bss"));
  EXPECT_TRUE(elf->section(".bss")->bytes.empty());
  EXPECT_FALSE(elf->section(".no.such"));
  const std::vector<ElfSymbol> symbols = elf->symbols(".dynsym");
  const bool found = std::any_of(symbols.begin(), symbols.end(), [](const ElfSymbol& symbol) {
    return symbol.name == "dlopen" && !symbol.defined;
  });
  EXPECT_TRUE(found) << "dlopen is an import of this program";
}

TEST(ElfImage, RefusesWhatIsNoElf) {
  EXPECT_FALSE(ElfImage::parse({}));
  EXPECT_FALSE(ElfImage::parse(std::vector<std::byte>(4096, std::byte{0x7f})));
}

// Under AddressSanitizer a read outside the bytes ends the test.
TEST(ElfImage, SurvivesDamage) {
  std::vector<std::byte> file = own_file();
  const auto whole = ElfImage::parse(file);
  ASSERT_TRUE(whole);
  std::mt19937 random(1);
  for (size_t cut : {16, 63, 64, 200, 4096}) {
    const std::vector<std::byte> part(file.begin(), file.begin() + cut);
    if (const auto elf = ElfImage::parse(part)) elf->symbols(".dynsym");
  }
  // The header and the section table are what directs the reading.
  uint64_t table = 0;
  std::copy_n(file.begin() + 0x28, 8, reinterpret_cast<std::byte*>(&table));
  for (int i = 0; i < 2000; ++i) {
    const size_t at = i % 2 ? random() % 64 : table + random() % (file.size() - table);
    const std::byte before = file[at];
    file[at] = std::byte(random());
    if (const auto elf = ElfImage::parse(file)) {
      elf->symbols(".dynsym");
      elf->symbols(".symtab");
    }
    file[at] = before;
  }
}

}  // namespace
}  // namespace ffpa_jit
