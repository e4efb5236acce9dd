// NVRTC itself: skipped, with the reason, on a machine that has none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "compile/compile_fixture.h"
#include "compile/compile_thread.h"
#include "compile/elf_image.h"
#include "compile/local_compilers.h"
#include "compile/nvrtc_library.h"
#include "compile/ptxas_report.h"

namespace ffpa_jit {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// 37 * 4 + 12 = 160 bytes of shared memory, and a barrier between write and read so that it stays.
constexpr const char* kSmall = R"(#line 1 "templates/cuda/small.j2"
extern "C" __global__ void __launch_bounds__(64) reverse(float* p) {
  __shared__ float s[40];
  s[threadIdx.x % 37] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[36 - threadIdx.x % 37];
}
)";

// 200 live floats in at most 32 registers.
constexpr const char* kSpilling = R"(
extern "C" __global__ void __launch_bounds__(1024, 2) spill(float* p, int n) {
  float a[200];
#pragma unroll
  for (int i = 0; i < 200; ++i) a[i] = p[i * n];
#pragma unroll 1
  for (int r = 0; r < n; ++r) {
#pragma unroll
    for (int i = 0; i < 200; ++i) a[i] = a[i] * a[(i * 7 + 3) % 200] + p[i + r];
  }
#pragma unroll
  for (int i = 0; i < 200; ++i) p[i * n] = a[i];
}
)";

// Many seconds of NVVM and ptxas, during which NVRTC does not look at a cancellation.
std::string endless() {
  std::string text = kSpilling;
  for (size_t at; (at = text.find("200")) != std::string::npos;) text.replace(at, 3, "1100");
  text.replace(text.find("(1024, 2) "), 10, "(64) ");
  return text;
}

class Nvrtc : public testing::Test {
 protected:
  static CompilerSet& set() { return test::local_compilers(); }
  void SetUp() override {
    for (const CompilerStatus& status : set().status()) {
      if (status.name == "nvrtc" && status.identity.empty()) GTEST_SKIP() << status.reason;
    }
  }
  static Compiler& compiler() { return set().for_target({TargetKind::kCuda, "sm_80"}); }
  static KernelSource source(const std::string& text, const std::string& entry,
                             const std::string& arch = "sm_80") {
    return {text, entry, "templates/cuda/small.j2", {TargetKind::kCuda, arch}};
  }
};

TEST_F(Nvrtc, SaysWhatItIs) {
  EXPECT_THAT(compiler().identity(), testing::MatchesRegex("nvrtc [0-9]+\\.[0-9]+(\\.[0-9]+)?"));
  EXPECT_FALSE(compiler().supports({TargetKind::kCuda, "sm_12"}));
  EXPECT_FALSE(compiler().supports({TargetKind::kCpu, "x86-64"}));
  const std::vector<std::string> all = compiler().targets();
  EXPECT_THAT(all, testing::IsSupersetOf({"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"}));
}

TEST_F(Nvrtc, CompilesForEveryTargetItLists) {
  for (const std::string& text : compiler().targets()) {
    SCOPED_TRACE(text);
    const KernelBinary binary = compiler().compile(source(kSmall, "reverse", text), {});
    EXPECT_EQ(binary.format, BinaryFormat::kCubin);
    EXPECT_EQ(binary.entry, "reverse");
    EXPECT_EQ(binary.compiler, compiler().identity());
    EXPECT_EQ(binary.log, "");
    EXPECT_EQ(binary.resources.static_shared_bytes, 160);
    EXPECT_EQ(binary.resources.spill_bytes, 0);
    EXPECT_EQ(binary.resources.local_bytes, 0);
    EXPECT_GT(binary.resources.registers, 4);
    EXPECT_LT(binary.resources.registers, 64);
    EXPECT_GT(binary.resources.code_bytes, 100);
    EXPECT_TRUE(ElfImage::parse(binary.bytes));
  }
}

// The text that ptxas prints and the file it writes are two sources of the same numbers.
TEST_F(Nvrtc, TextAndFileAgreeAboutResources) {
  std::string reason;
  const auto library = NvrtcLibrary::load(test::local_compiler_libraries().nvrtc, &reason);
  ASSERT_TRUE(library) << reason;
  for (const std::string& text : library->targets()) {
    for (const auto& [code, entry] :
         {std::pair{kSmall, "reverse"}, std::pair{kSpilling, "spill"}}) {
      if (entry == std::string("spill") && text != "sm_80" && text != "sm_90a") continue;
      SCOPED_TRACE(text + " " + entry);
      const NvrtcOutput output =
          library->compile(code, library->options({TargetKind::kCuda, text}), nullptr, nullptr);
      ASSERT_EQ(output.result, kNvrtcSuccess) << output.log;
      const auto file = resources_in_cubin(output.cubin, entry,
                                           Target{TargetKind::kCuda, text}.compute_capability());
      ASSERT_TRUE(file);
      const KernelResources printed = resources_in_ptxas_text(output.log, entry);
      EXPECT_EQ(file->registers, printed.registers);
      EXPECT_EQ(file->local_bytes, printed.local_bytes);
      EXPECT_EQ(file->static_shared_bytes, printed.static_shared_bytes);
    }
  }
}

TEST_F(Nvrtc, ReportsSpills) {
  const KernelBinary binary = compiler().compile(source(kSpilling, "spill"), {});
  EXPECT_LE(binary.resources.registers, 32);
  EXPECT_GT(binary.resources.spill_bytes, 100);
  EXPECT_GT(binary.resources.local_bytes, 100);
}

TEST_F(Nvrtc, SaysWherePerformanceIsLost) {
  if (!compiler().supports({TargetKind::kCuda, "sm_90a"})) GTEST_SKIP() << "no sm_90a";
  // setmaxnreg needs to know the number of threads; without launch bounds it is ignored.
  const KernelBinary binary = compiler().compile(
      source("extern \"C\" __global__ void k(int* p) {\n"
             "  asm volatile(\"setmaxnreg.inc.sync.aligned.u32 232;\");\n  *p = 1;\n}\n",
             "k", "sm_90a"),
      {});
  EXPECT_FALSE(performance_losses(binary.log).empty()) << binary.log;
}

TEST_F(Nvrtc, AnErrorHasThePlaceInTheTemplateAndTheWholeLog) {
  const std::string text =
      "#line 40 \"templates/cuda/bad.j2\"\n"
      "extern \"C\" __global__ void k(int* p) {\n  int x = undeclared_one;\n"
      "#line 7 \"templates/cuda/lib/piece.j2\"\n  p[0] = undeclared_two;\n}\n";
  const Error error = test::error_of([&] { compiler().compile(source(text, "k", "sm_90"), {}); });
  EXPECT_EQ(error.code(), FFPA_JIT_COMPILE_FAILED);
  EXPECT_THAT(error.what(), testing::StartsWith(compiler().identity() +
                                                " refused templates/cuda/small.j2 for sm_90:\n"));
  EXPECT_THAT(error.what(),
              HasSubstr("templates/cuda/bad.j2(41): error: identifier \"undeclared_one\""));
  EXPECT_THAT(error.what(),
              HasSubstr("templates/cuda/lib/piece.j2(7): error: identifier \"undeclared_two\""));
}

TEST_F(Nvrtc, AMissingEntryIsNamed) {
  const Error error = test::error_of([&] { compiler().compile(source(kSmall, "forward"), {}); });
  EXPECT_EQ(error.code(), FFPA_JIT_COMPILE_FAILED);
  EXPECT_THAT(error.what(), HasSubstr("has no function `forward`"));
}

TEST_F(Nvrtc, AnUnknownTargetIsRefused) {
  const Error error =
      test::error_of([&] { compiler().compile(source(kSmall, "reverse", "sm_42"), {}); });
  EXPECT_EQ(error.code(), FFPA_JIT_NO_COMPILER);
  EXPECT_THAT(error.what(), HasSubstr("sm_90a"));
}

TEST_F(Nvrtc, KeepsItsTimeLimit) {
  const auto begin = std::chrono::steady_clock::now();
  const Error error = test::error_of([&] {
    compiler().compile(source(endless(), "spill"), {500ms, {}});
  });
  EXPECT_EQ(error.code(), FFPA_JIT_TIMEOUT) << error.what();
  EXPECT_THAT(error.what(), HasSubstr("limit of 500 ms"));
  EXPECT_LT(test::seconds_since(begin), 1.5);
  // What was left behind must not stand in the way of the next; NVRTC 12.0 compiles one program at
  // a time.
  if (compiler().identity() < "nvrtc 12.8") return;
  const auto next = std::chrono::steady_clock::now();
  EXPECT_EQ(compiler().compile(source(kSmall, "reverse"), {}).resources.spill_bytes, 0);
  EXPECT_LT(test::seconds_since(next), 2.0);
}

TEST_F(Nvrtc, CanBeCancelled) {
  std::stop_source stop;
  std::jthread other([&] {
    std::this_thread::sleep_for(200ms);
    stop.request_stop();
  });
  const auto begin = std::chrono::steady_clock::now();
  const Error error = test::error_of([&] {
    compiler().compile(source(endless(), "spill"), {60s, stop.get_token()});
  });
  EXPECT_EQ(error.code(), FFPA_JIT_COMPILE_FAILED);
  EXPECT_THAT(error.what(), HasSubstr("was cancelled"));
  EXPECT_LT(test::seconds_since(begin), 1.5);
}

TEST_F(Nvrtc, ThreadsCompileAtOnceAndAgree) {
  std::vector<KernelBinary> results(8);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < results.size(); ++i) {
      threads.emplace_back([&, i] {
        results[i] = compiler().compile(source(kSmall, "reverse", i % 2 ? "sm_90a" : "sm_80"), {});
      });
    }
  }
  for (size_t i = 2; i < results.size(); ++i) {
    EXPECT_FALSE(results[i].bytes.empty());
    EXPECT_EQ(results[i].bytes, results[i % 2].bytes);
    EXPECT_EQ(results[i].resources, results[i % 2].resources);
  }
}

}  // namespace
}  // namespace ffpa_jit
