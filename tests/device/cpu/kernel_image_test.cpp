// Kernel images: a real one runs; anything damaged is refused with DEVICE_ERROR. The real one is
// built by the host's compiler (kernel_for_test.c) as a self-contained shared object.
#include "device/cpu/kernel_image.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <vector>

#include "base/error.h"
#include "device/cpu/cpu_device.h"

namespace ffpa_jit {
namespace {

std::vector<std::byte> read_image() {
  std::ifstream file(KERNEL_FOR_TEST, std::ios::binary);
  std::vector<char> text((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

ffpa_jit_status load_status(const std::vector<std::byte>& bytes,
                            const std::string& entry = "fill_cells") {
  try {
    KernelImage image(bytes, entry);
    return FFPA_JIT_OK;
  } catch (const Error& error) {
    EXPECT_STRNE(error.what(), "");
    return error.code();
  }
}

struct FillParams {  // as in kernel_for_test.c
  unsigned* out;
  unsigned grid_x, grid_y;
};

KernelBinary real_binary() {
  KernelBinary binary;
  binary.bytes = read_image();
  binary.format = BinaryFormat::kElfSharedObject;
  binary.entry = "fill_cells";
  return binary;
}

TEST(CpuDevice, LaunchesAnImageOverTheWholeGrid) {
  CpuDevice device(3);
  const auto kernel = device.load(real_binary());
  std::vector<unsigned> out(5 * 4 * 3, 0);
  const FillParams params{out.data(), 5, 4};
  LaunchGeometry geometry;
  geometry.grid = {5, 4, 3};
  geometry.dynamic_shared_bytes = 64;
  device.launch(*kernel, geometry, std::as_bytes(std::span(&params, 1)), nullptr);
  std::vector<unsigned> expected(out.size());
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(out, expected);
}

// The loader remembers libraries by name: two images that live at once, and one after another, must
// not be confused.
TEST(CpuDevice, ImagesAreNotConfused) {
  KernelBinary first = real_binary();
  KernelBinary second = first;
  // The kernel adds `increment` (1) to what it writes; patch a copy to add 1000.
  const uint32_t marker[2] = {0x5eed5eed, 1}, patched[2] = {0x5eed5eed, 1000};
  bool found = false;
  for (size_t i = 0; i + sizeof(marker) <= second.bytes.size(); ++i) {
    if (std::memcmp(&second.bytes[i], marker, sizeof(marker)) == 0) {
      std::memcpy(&second.bytes[i], patched, sizeof(patched));
      found = true;
    }
  }
  ASSERT_TRUE(found);
  CpuDevice device(1);
  const auto result_of = [&](const LoadedKernel& kernel) {
    unsigned out = 0;
    const FillParams params{&out, 1, 1};
    LaunchGeometry geometry;
    device.launch(kernel, geometry, std::as_bytes(std::span(&params, 1)), nullptr);
    return out;
  };
  const auto a = device.load(first);
  const auto b = device.load(second);
  EXPECT_EQ(result_of(*a), 1u);
  EXPECT_EQ(result_of(*b), 1000u);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(result_of(*device.load(first)), 1u);
    EXPECT_EQ(result_of(*device.load(second)), 1000u);
  }
}

TEST(CpuDevice, RefusesAnotherFormat) {
  KernelBinary binary = real_binary();
  binary.format = BinaryFormat::kCubin;
  CpuDevice device(1);
  try {
    device.load(binary);
    FAIL() << "loaded a cubin";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), FFPA_JIT_DEVICE_ERROR);
    EXPECT_THAT(std::string(error.what()), testing::HasSubstr("ELF shared object"));
  }
}

TEST(CpuDevice, RunsAClosure) {
  CpuDevice device(2);
  std::atomic<unsigned> sum{0};
  const auto kernel = device.wrap([&](const void*, unsigned x, unsigned y, unsigned z, void*) {
    sum += 1 + x + 10 * y + 100 * z;
  });
  LaunchGeometry geometry;
  geometry.grid = {2, 2, 2};
  device.launch(*kernel, geometry, {}, nullptr);
  EXPECT_EQ(sum, 8u + 4 * 111);
}

TEST(CpuDevice, FactsAndMemory) {
  CpuDevice device(0);
  EXPECT_FALSE(device.info().name.empty());
  EXPECT_EQ(device.info().text, "cpu");
  EXPECT_GE(device.info().multiprocessors, 1);
  EXPECT_GT(device.info().shared_bytes_per_block, 0);
  EXPECT_GT(device.info().memory_bytes, int64_t{1} << 20);
  EXPECT_EQ(CpuDevice(5).info().multiprocessors, 5);

  void* memory = device.allocate(1000, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
  device.fill(memory, 0xab, 1000, nullptr);
  unsigned char back[1000] = {};
  device.copy_to_host(back, memory, 1000, nullptr);
  EXPECT_EQ(back[999], 0xab);
  device.release(memory, nullptr);
  EXPECT_EQ(device.allocate(0, nullptr), nullptr);
  device.release(nullptr, nullptr);
  try {
    device.allocate(~size_t{0}, nullptr);
    FAIL() << "allocated everything";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), FFPA_JIT_OUT_OF_MEMORY);
  }
}

TEST(KernelImage, RealImageLoads) { EXPECT_EQ(load_status(read_image()), FFPA_JIT_OK); }

TEST(KernelImage, MissingEntry) {
  EXPECT_EQ(load_status(read_image(), "no_such_kernel"), FFPA_JIT_DEVICE_ERROR);
}

TEST(KernelImage, EmptyAndGarbage) {
  EXPECT_EQ(load_status({}), FFPA_JIT_DEVICE_ERROR);
  std::mt19937 random(1);
  std::vector<std::byte> garbage(10'000);
  for (std::byte& b : garbage) b = static_cast<std::byte>(random());
  EXPECT_EQ(load_status(garbage), FFPA_JIT_DEVICE_ERROR);
  std::memcpy(garbage.data(), ELFMAG, SELFMAG);
  EXPECT_EQ(load_status(garbage), FFPA_JIT_DEVICE_ERROR);
}

TEST(KernelImage, WrongMachine) {
  std::vector<std::byte> bytes = read_image();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.e_machine = EM_AVR;
  std::memcpy(bytes.data(), &header, sizeof(header));
  EXPECT_EQ(load_status(bytes), FFPA_JIT_DEVICE_ERROR);
}

// What the loaded segments do not reach (section headers, symbol names for debuggers) may be
// missing; everything before may not.
TEST(KernelImage, EveryTruncation) {
  const std::vector<std::byte> whole = read_image();
  size_t needed = 0;
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof(header));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, &whole[header.e_phoff + i * sizeof(segment)], sizeof(segment));
    if (segment.p_type == PT_LOAD)
      needed = std::max<size_t>(needed, segment.p_offset + segment.p_filesz);
  }
  for (size_t size = 0; size < needed; size += size < 1024 ? 1 : 61) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + size);
    ASSERT_EQ(load_status(cut), FFPA_JIT_DEVICE_ERROR) << size << " of " << needed;
  }
}

// Damage anywhere in the header or the tables: refused, or still a loadable image (a bit that
// nothing reads), but never a crash. In a child process, so that a crash is a failed expectation
// and not the end of the run.
TEST(KernelImage, FlippedBytesNeverCrashTheLoader) {
  const std::vector<std::byte> whole = read_image();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);
    for (size_t i = 0; i < whole.size(); ++i) {
      for (unsigned flip : {0x01u, 0x80u, 0xffu}) {
        std::vector<std::byte> damaged = whole;
        damaged[i] ^= static_cast<std::byte>(flip);
        const ffpa_jit_status status = load_status(damaged);
        if (status != FFPA_JIT_OK && status != FFPA_JIT_DEVICE_ERROR) ::_exit(1);
      }
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << (WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "wrong status");
}

}  // namespace
}  // namespace ffpa_jit
