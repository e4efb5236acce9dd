// The Clang plugin: skipped, with the reason, where it was not built or LLVM is not installed.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "compile/compile_fixture.h"
#include "compile/compile_thread.h"
#include "compile/elf_image.h"
#include "compile/local_compilers.h"

namespace ffpa_jit {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// dot(a, b, n): plain C++ at every level, so that the vectoriser works; n is a multiple of 16.
constexpr const char* kDot = R"(#line 1 "templates/cpu/dot.j2"
typedef float f32x16 __attribute__((ext_vector_type(16)));
struct Parts { float lane[16]; };
extern "C" float dot(const float* a, const float* b, long n) {
  f32x16 sum = 0;
  for (long i = 0; i < n; i += 16) {
    f32x16 x, y;
    __builtin_memcpy(&x, a + i, sizeof(x));
    __builtin_memcpy(&y, b + i, sizeof(y));
    sum += x * y;
  }
  Parts parts;
  __builtin_memcpy(&parts, &sum, sizeof(parts));
  float total = 0;
  for (float lane : parts.lane) total += lane;
  return total;
}
)";

// The same on bfloat16 pairs with vdpbf16ps.
constexpr const char* kDotBf16 = R"(
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef __bf16 bf16x32 __attribute__((vector_size(64)));
typedef float v16 __attribute__((vector_size(64)));
extern "C" float dot_bf16(const __bf16* a, const __bf16* b, long n) {
  v16 sum = {};
  for (long i = 0; i < n; i += 32) {
    bf16x32 x, y;
    __builtin_memcpy(&x, a + i, sizeof(x));
    __builtin_memcpy(&y, b + i, sizeof(y));
    sum = __builtin_ia32_dpbf16ps_512(sum, x, y);
  }
  float total = 0;
  for (int i = 0; i < 16; ++i) total += sum[i];
  return total;
}
)";

// One 16x16x32 tile product with AMX; c is [16, 16] fp32.
constexpr const char* kTile = R"(
struct alignas(64) Config { unsigned char palette = 1, start = 0, pad[14] = {}; unsigned short bytes[16] = {};
                            unsigned char rows[16] = {}; };
extern "C" void tile(const __bf16* a, const __bf16* b, float* c) {
  Config config;
  for (int i = 0; i < 3; ++i) { config.bytes[i] = 64; config.rows[i] = 16; }
  __builtin_ia32_tile_loadconfig(&config);
  __builtin_ia32_tilezero(0);
  __builtin_ia32_tileloadd64(1, a, 64);
  __builtin_ia32_tileloadd64(2, b, 64);
  __builtin_ia32_tdpbf16ps(0, 1, 2);
  __builtin_ia32_tilestored64(0, c, 64);
  __builtin_ia32_tilerelease();
}
)";

// Thousands of values live at once: many seconds of optimisation.
constexpr const char* kEndless = R"(
extern "C" void endless(float* p, long n) {
  float a[6000];
#pragma clang loop unroll(full)
  for (int i = 0; i < 6000; ++i) a[i] = p[i * n];
#pragma clang loop unroll(disable)
  for (long r = 0; r < n; ++r) {
#pragma clang loop unroll(full)
    for (int i = 0; i < 6000; ++i) a[i] = a[i] * a[(i * 7 + 3) % 6000] + p[i + r];
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < 6000; ++i) p[i * n] = a[i];
}
)";

// An image in use, loaded as the CPU device does: from memory.
class Image {
 public:
  explicit Image(const KernelBinary& binary) {
    const int fd = ::memfd_create("image", MFD_CLOEXEC);
    EXPECT_EQ(::write(fd, binary.bytes.data(), binary.bytes.size()),
              static_cast<ssize_t>(binary.bytes.size()));
    handle_ = ::dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) ADD_FAILURE() << ::dlerror();
    ::close(fd);
  }
  ~Image() {
    if (handle_) ::dlclose(handle_);
  }
  template <typename Function>
  Function* function(const char* name) const {
    return handle_ ? reinterpret_cast<Function*>(::dlsym(handle_, name)) : nullptr;
  }

 private:
  void* handle_ = nullptr;
};

uint16_t bf16_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return static_cast<uint16_t>(bits >> 16);  // exact for the small integers used here
}

bool host_has(std::string_view level) {
  const Target target{TargetKind::kCpu, std::string(level)};
  return host_cpu_target_at_most(target) == target;
}

class Clang : public testing::Test {
 protected:
  static CompilerSet& set() { return test::local_compilers(); }
  void SetUp() override {
    for (const CompilerStatus& status : set().status()) {
      if (status.name == "clang" && status.identity.empty()) GTEST_SKIP() << status.reason;
    }
  }
  static Compiler& compiler() { return set().for_target({TargetKind::kCpu, "x86-64"}); }
  static KernelSource source(const std::string& text, const std::string& entry,
                             const std::string& level = "x86-64-v3") {
    return {text, entry, "templates/cpu/dot.j2", {TargetKind::kCpu, level}};
  }
};

TEST_F(Clang, SaysWhatItIs) {
  EXPECT_THAT(compiler().identity(), testing::MatchesRegex("clang 22\\.1\\.[0-9]+"));
  std::vector<std::string> processors, emulated;
  for (const std::string& target : compiler().targets()) {
    (target.starts_with("cpu:") ? processors : emulated).push_back(target);
  }
  EXPECT_THAT(processors, testing::ElementsAre("cpu:x86-64", "cpu:x86-64-v3", "cpu:x86-64-v4",
                                               "cpu:x86-64-v4-bf16", "cpu:x86-64-v4-amx"));
  EXPECT_THAT(emulated, testing::Each(testing::StartsWith("emu:sm_")));
  EXPECT_THAT(emulated, testing::IsSupersetOf({"emu:sm_75", "emu:sm_80", "emu:sm_90a"}));
}

TEST_F(Clang, CompilesForEveryLevelAndRunsWhereTheHostHasIt) {
  std::vector<float> a(64), b(64);
  std::iota(a.begin(), a.end(), 1.0f);
  std::iota(b.begin(), b.end(), -20.0f);
  const float expected =
      std::inner_product(a.begin(), a.end(), b.begin(), 0.0f);  // exact: integers
  for (const std::string& text : compiler().targets()) {
    if (!text.starts_with("cpu:")) continue;
    SCOPED_TRACE(text);
    const std::string level = text.substr(4);
    const KernelBinary binary = compiler().compile(source(kDot, "dot", level), {});
    EXPECT_EQ(binary.format, BinaryFormat::kElfSharedObject);
    EXPECT_EQ(binary.compiler, compiler().identity());
    EXPECT_EQ(binary.log, "");
    EXPECT_GT(binary.resources.code_bytes, 30);
    EXPECT_LT(binary.bytes.size(), 16384u);
    if (!host_has(level)) {
      std::printf("not run: this processor has no %s\n", level.c_str());
      continue;
    }
    const Image image(binary);
    auto* dot = image.function<float(const float*, const float*, long)>("dot");
    ASSERT_TRUE(dot);
    EXPECT_EQ(dot(a.data(), b.data(), 64), expected);
  }
}

TEST_F(Clang, UsesTheInstructionsOfTheLevel) {
  const KernelBinary bf16 = compiler().compile(source(kDotBf16, "dot_bf16", "x86-64-v4-bf16"), {});
  const KernelBinary tile = compiler().compile(source(kTile, "tile", "x86-64-v4-amx"), {});
  const Error below =
      test::error_of([&] { compiler().compile(source(kDotBf16, "dot_bf16", "x86-64-v4"), {}); });
  EXPECT_THAT(below.what(), HasSubstr("needs target feature avx512bf16"));

  std::vector<uint16_t> a(512), b(512);
  for (int i = 0; i < 512; ++i) {
    a[i] = bf16_of(static_cast<float>(i % 7));
    b[i] = bf16_of(static_cast<float>(i % 5 - 2));
  }
  if (host_has("x86-64-v4-bf16")) {
    float expected = 0;
    for (int i = 0; i < 512; ++i) expected += static_cast<float>((i % 7) * (i % 5 - 2));
    const Image image(bf16);
    auto* dot = image.function<float(const uint16_t*, const uint16_t*, long)>("dot_bf16");
    ASSERT_TRUE(dot);
    EXPECT_EQ(dot(a.data(), b.data(), 512), expected);
  }
  if (host_has("x86-64-v4-amx")) {
    host_cpu_target();  // asks for the permission to use tiles
    std::vector<float> c(256, -1.0f);
    const Image image(tile);
    auto* run = image.function<void(const uint16_t*, const uint16_t*, float*)>("tile");
    ASSERT_TRUE(run);
    run(a.data(), b.data(), c.data());
    // A is [16, 32]; B holds pairs of rows interleaved: element (k, n) lies at (k / 2) * 32 + 2 n +
    // k % 2.
    for (int m = 0; m < 16; ++m) {
      for (int n = 0; n < 16; ++n) {
        float expected = 0;
        for (int k = 0; k < 32; ++k) {
          const int at = k / 2 * 32 + 2 * n + k % 2;
          expected += static_cast<float>(((m * 32 + k) % 7) * (at % 5 - 2));
        }
        EXPECT_EQ(c[m * 16 + n], expected) << m << "," << n;
      }
    }
  }
}

TEST_F(Clang, TheImageNamesNoLibrary) {
  const KernelBinary binary = compiler().compile(
      source("struct Big { char bytes[4096]; };\n"
             "extern \"C\" void copy(Big* to, const Big* from) { *to = *from; }\n",
             "copy"),
      {});
  const auto elf = ElfImage::parse(binary.bytes);
  ASSERT_TRUE(elf);
  std::vector<std::string> imports;
  for (const ElfSymbol& symbol : elf->symbols(".dynsym")) {
    if (!symbol.defined && !symbol.name.empty()) imports.emplace_back(symbol.name);
  }
  EXPECT_THAT(imports, testing::ElementsAre("memcpy"));
  const ElfSection* dynamic = elf->section(".dynamic");
  ASSERT_TRUE(dynamic);
  for (size_t at = 0; at + 16 <= dynamic->bytes.size(); at += 16) {
    int64_t tag;
    std::memcpy(&tag, dynamic->bytes.data() + at, sizeof(tag));
    EXPECT_NE(tag, 1) << "DT_NEEDED";
    EXPECT_NE(tag, 22) << "DT_TEXTREL";
  }
  const Image image(binary);
  auto* copy = image.function<void(char*, const char*)>("copy");
  ASSERT_TRUE(copy);
  std::vector<char> from(4096, 'x'), to(4096);
  copy(to.data(), from.data());
  EXPECT_EQ(from, to);
}

TEST_F(Clang, OtherImportsAreRefusedByName) {
  const Error error = test::error_of([&] {
    compiler().compile(source("extern \"C\" float expf(float);\n"
                              "extern \"C\" float f(float x) { return expf(x); }\n",
                              "f"),
                       {});
  });
  EXPECT_EQ(error.code(), FFPA_JIT_COMPILE_FAILED);
  EXPECT_THAT(error.what(), HasSubstr("`expf`"));
  EXPECT_THAT(error.what(), HasSubstr("memcpy memmove memset memcmp"));
}

TEST_F(Clang, AnErrorHasThePlaceInTheTemplateAndTheWholeLog) {
  const std::string text =
      "#line 40 \"templates/cpu/bad.j2\"\n"
      "extern \"C\" void k(int* p) {\n  int x = undeclared_one;\n"
      "#line 7 \"templates/cpu/lib/piece.j2\"\n  p[0] = undeclared_two;\n}\n";
  const Error error = test::error_of([&] { compiler().compile(source(text, "k"), {}); });
  EXPECT_EQ(error.code(), FFPA_JIT_COMPILE_FAILED);
  EXPECT_THAT(error.what(),
              testing::StartsWith(compiler().identity() +
                                  " refused templates/cpu/dot.j2 for cpu:x86-64-v3:\n"));
  EXPECT_THAT(error.what(), HasSubstr("templates/cpu/bad.j2:41:11: error: use of undeclared "
                                      "identifier 'undeclared_one'"));
  EXPECT_THAT(error.what(), HasSubstr("templates/cpu/lib/piece.j2:7:10: error: use of undeclared "
                                      "identifier 'undeclared_two'"));
}

TEST_F(Clang, WarningsAreInTheLog) {
  const KernelBinary binary = compiler().compile(
      source("#line 3 \"templates/cpu/w.j2\"\nextern \"C\" int f(int x) { return x << 40; }\n",
             "f"),
      {});
  EXPECT_THAT(binary.log, HasSubstr("templates/cpu/w.j2:3:36: warning: shift count >= width"));
}

TEST_F(Clang, NothingOutsideTheTextCanBeIncluded) {
  for (const char* header :
       {"<stdint.h>", "<immintrin.h>", "\"/etc/passwd\"", "\"/proc/self/maps\""}) {
    const Error error = test::error_of([&] {
      compiler().compile(
          source(std::string("#include ") + header + "\nextern \"C\" void f() {}\n", "f"), {});
    });
    EXPECT_EQ(error.code(), FFPA_JIT_COMPILE_FAILED) << header;
    EXPECT_THAT(error.what(), HasSubstr("file not found"));
  }
}

TEST_F(Clang, AMissingEntryIsNamed) {
  const Error error = test::error_of([&] { compiler().compile(source(kDot, "forward"), {}); });
  EXPECT_EQ(error.code(), FFPA_JIT_COMPILE_FAILED);
  EXPECT_THAT(error.what(), HasSubstr("has no function `forward`"));
}

TEST_F(Clang, ThreadsAgreeByteForByte) {
  std::vector<KernelBinary> results(6);
  {
    std::vector<std::jthread> threads;
    for (KernelBinary& result : results) {
      threads.emplace_back(
          [&result] { result = compiler().compile(source(kDot, "dot", "x86-64-v4"), {}); });
    }
  }
  for (const KernelBinary& result : results) {
    EXPECT_FALSE(result.bytes.empty());
    EXPECT_EQ(result.bytes, results[0].bytes);
  }
}

TEST_F(Clang, ProcessesAgreeByteForByte) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";  // a new process, not a fork of this one
  const auto hash = [] {
    return hash128(std::span<const std::byte>(
                       compiler().compile(source(kDot, "dot", "x86-64-v4"), {}).bytes))
        .hex();
  };
  const std::string here = hash();
  EXPECT_EXIT(
      {
        std::fprintf(stderr, "image %s\n", hash().c_str());
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "image " + here);
}

TEST_F(Clang, KeepsItsTimeLimit) {
  const auto begin = std::chrono::steady_clock::now();
  const Error error = test::error_of([&] {
    compiler().compile(source(kEndless, "endless"), {300ms, {}});
  });
  EXPECT_EQ(error.code(), FFPA_JIT_TIMEOUT) << error.what();
  EXPECT_LT(test::seconds_since(begin), 1.3);
  const auto next = std::chrono::steady_clock::now();
  EXPECT_FALSE(compiler().compile(source(kDot, "dot"), {}).bytes.empty());
  EXPECT_LT(test::seconds_since(next), 3.0);
}

TEST_F(Clang, CanBeCancelled) {
  std::stop_source stop;
  std::jthread other([&] {
    std::this_thread::sleep_for(100ms);
    stop.request_stop();
  });
  const auto begin = std::chrono::steady_clock::now();
  const Error error = test::error_of([&] {
    compiler().compile(source(kEndless, "endless"), {60s, stop.get_token()});
  });
  EXPECT_EQ(error.code(), FFPA_JIT_COMPILE_FAILED);
  EXPECT_THAT(error.what(), HasSubstr("was cancelled"));
  EXPECT_LT(test::seconds_since(begin), 1.3);
}

// Clang's own way of asking for a crash and for a fatal error of the back end.
TEST_F(Clang, ACrashInsideIsAnErrorAndTheNextCompileWorks) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a crash loses the memory that the compile held, which a sanitizer reports";
#endif
  for (const char* pragma :
       {"#pragma clang __debug crash\n", "#pragma clang __debug llvm_fatal_error\n"}) {
    const Error error = test::error_of([&] {
      compiler().compile(source(std::string(pragma) + "extern \"C\" void f() {}\n", "f"), {});
    });
    EXPECT_EQ(error.code(), FFPA_JIT_COMPILE_FAILED);
    EXPECT_THAT(error.what(), HasSubstr("failed inside on templates/cpu/dot.j2")) << pragma;
    EXPECT_FALSE(compiler().compile(source(kDot, "dot"), {}).bytes.empty());
  }
}

TEST_F(Clang, LeavesTheHostsSignalHandlersAlone) {
  // An abandoned compile of another test holds LLVM's handlers in place until it ends.
  for (int i = 0; i < 3000 && abandoned_compiles() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (abandoned_compiles() > 0) GTEST_SKIP() << "a compile of another test has not ended";
  struct sigaction mine {};
  mine.sa_handler = SIG_IGN;
  struct sigaction before {
  }, after{};
  ASSERT_EQ(::sigaction(SIGTRAP, &mine, &before), 0);
  compiler().compile(source(kDot, "dot"), {});
  ASSERT_EQ(::sigaction(SIGTRAP, &before, &after), 0);
  EXPECT_EQ(after.sa_handler, SIG_IGN);
}

TEST_F(Clang, IsQuick) {
  const auto begin = std::chrono::steady_clock::now();
  compiler().compile(source(kDot, "dot"), {});
  RecordProperty("compile_ms", static_cast<int>(test::seconds_since(begin) * 1e3));
  EXPECT_LT(test::seconds_since(begin), 5.0);
}

}  // namespace
}  // namespace ffpa_jit
