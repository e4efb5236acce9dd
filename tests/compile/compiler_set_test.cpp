// Which compiler serves which target, and what is said where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "compile/compile_fixture.h"
#include "compile/compiler.h"

namespace ffpa_jit {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const Target kCpuTarget{TargetKind::kCpu, "x86-64"};
const Target kCudaTarget{TargetKind::kCuda, "sm_80"};

CompilerStatus status_of(CompilerSet& set, const std::string& name) {
  for (const CompilerStatus& status : set.status()) {
    if (status.name == name) return status;
  }
  return {};
}

TEST(CompilerSet, WithoutThePluginSaysWhatToInstall) {
  CompilerSet set(null_logger(), {.clang_plugin = "/nowhere/libffpa_jit_clang.so"});
  std::string reason;
  EXPECT_EQ(set.find(kCpuTarget, &reason), nullptr);
  EXPECT_EQ(set.find(kCpuTarget, nullptr), nullptr);
  EXPECT_THAT(reason, AllOf(HasSubstr("the Clang plugin is not installed"),
                            HasSubstr("/nowhere/libffpa_jit_clang.so"),
                            HasSubstr("apt install libclang-cpp22 libllvm22")));
  const Error error = test::error_of([&] { set.for_target(kCpuTarget); });
  EXPECT_EQ(error.code(), FFPA_JIT_NO_COMPILER);
  EXPECT_THAT(error.what(), HasSubstr("no compiler for cpu:x86-64: "));
  const CompilerStatus status = status_of(set, "clang");
  EXPECT_EQ(status.identity, "");
  EXPECT_THAT(status.remedy, HasSubstr("libclang-cpp22"));
}

TEST(CompilerSet, WithoutLlvmSaysWhichLibraryIsMissing) {
  CompilerSet set(null_logger(), {.clang_plugin = FFPA_TEST_NEEDS_ABSENT});
  const CompilerStatus status = status_of(set, "clang");
  EXPECT_EQ(status.identity, "");
  EXPECT_THAT(status.reason, AllOf(HasSubstr("the Clang plugin does not load"),
                                   HasSubstr("libffpa_test_absent.so: cannot open shared object")));
}

TEST(CompilerSet, APluginOfAnotherVersionIsNotUsed) {
  CompilerSet set(null_logger(), {.clang_plugin = FFPA_TEST_OTHER_VERSION});
  EXPECT_THAT(status_of(set, "clang").reason, HasSubstr("another version of this library"));
}

TEST(CompilerSet, ALibraryThatIsNoPluginIsNotUsed) {
  CompilerSet set(null_logger(), {.clang_plugin = "/proc/self/exe"});
  EXPECT_EQ(status_of(set, "clang").identity, "");
  EXPECT_NE(status_of(set, "clang").reason, "");
}

TEST(CompilerSet, WithoutNvrtcSaysWhatToInstall) {
  CompilerSet set(null_logger(), {.nvrtc = "/nowhere/libnvrtc.so"});
  std::string reason;
  EXPECT_EQ(set.find(kCudaTarget, &reason), nullptr);
  EXPECT_THAT(reason, AllOf(HasSubstr("NVRTC is not found: /nowhere/libnvrtc.so"),
                            HasSubstr("pip install nvidia-cuda-nvrtc")));
}

TEST(CompilerSet, AnEmptyDirectoryHoldsNoNvrtc) {
  const std::filesystem::path empty =
      std::filesystem::temp_directory_path() / ("ffpa_jit_empty_" + std::to_string(::getpid()));
  std::filesystem::create_directory(empty);
  CompilerSet set(null_logger(), {.nvrtc = empty.string()});
  EXPECT_THAT(status_of(set, "nvrtc").reason, HasSubstr(empty.string() + "/libnvrtc.so"));
  std::filesystem::remove(empty);
}

TEST(CompilerSet, ALibraryThatIsNotNvrtcIsNotUsed) {
  CompilerSet set(null_logger(), {.nvrtc = FFPA_TEST_OTHER_VERSION});
  EXPECT_THAT(status_of(set, "nvrtc").reason, HasSubstr("has no nvrtcVersion"));
}

TEST(CompilerSet, ATargetWithoutAnyCompilerIsExplained) {
  CompilerSet set(null_logger());
  std::string reason;
  EXPECT_EQ(set.find({TargetKind::kHip, "gfx942"}, &reason), nullptr);
  EXPECT_THAT(reason, HasSubstr("no compiler of this version"));
  const Error error = test::error_of([&] { set.for_target({TargetKind::kHip, "gfx942"}); });
  EXPECT_EQ(error.code(), FFPA_JIT_NO_COMPILER);
  EXPECT_THAT(error.what(), HasSubstr("gfx942"));
}

TEST(CompilerSet, AnUnknownArchitectureListsTheKnown) {
  CompilerSet set(null_logger());
  if (status_of(set, "clang").identity.empty()) GTEST_SKIP() << status_of(set, "clang").reason;
  std::string reason;
  EXPECT_EQ(set.find({TargetKind::kCpu, "sparc"}, &reason), nullptr);
  EXPECT_THAT(reason, HasSubstr("cpu:x86-64-v4-bf16"));
}

TEST(CompilerSet, FindsThePluginOfThisBuild) {
  CompilerSet set(null_logger());
  if (status_of(set, "clang").identity.empty()) GTEST_SKIP() << status_of(set, "clang").reason;
  ASSERT_NE(set.find(kCpuTarget, nullptr), nullptr);
  EXPECT_EQ(set.find(kCpuTarget, nullptr), set.find({TargetKind::kCpu, "x86-64-v4"}, nullptr));
}

// A process that only uses cached kernels pays for no compiler.
TEST(CompilerSet, LoadsNothingBeforeItIsAsked) {
  testing::GTEST_FLAG(death_test_style) =
      "threadsafe";  // a new process: nothing loaded by other tests
  EXPECT_EXIT(
      {
        CompilerSet set(null_logger());
        compile_options(kCpuTarget);
        compile_options(kCudaTarget);
        std::ifstream maps("/proc/self/maps");
        const std::string text(std::istreambuf_iterator<char>(maps), {});
        for (const char* name : {"libLLVM", "libclang-cpp", "libffpa_jit_clang", "libnvrtc"}) {
          if (text.find(name) != std::string::npos) std::fprintf(stderr, "%s is loaded\n", name);
        }
        std::fprintf(stderr, "%s\n",
                     text.find("libc.so") == std::string::npos ? "blind" : "looked");
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "^looked\n$");
}

TEST(CompileOptions, HoldNoPathsAndDifferByTarget) {
  for (TargetKind kind : {TargetKind::kCpu, TargetKind::kCuda}) {
    std::vector<std::vector<std::string>> seen;
    for (std::string_view arch : architectures(kind)) {
      const std::vector<std::string> options = compile_options({kind, std::string(arch)});
      EXPECT_FALSE(options.empty());
      for (const std::string& option : options) EXPECT_THAT(option, Not(HasSubstr("/")));
      EXPECT_THAT(seen, Not(testing::Contains(options))) << arch;
      seen.push_back(options);
    }
  }
}

}  // namespace
}  // namespace ffpa_jit
