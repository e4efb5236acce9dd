#include "problem/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/error.h"
#include "problem/expect_error.h"

namespace ffpa_jit {
namespace {

using ::testing::HasSubstr;

std::string rejected(std::string_view text) {
  try {
    parse_target(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), FFPA_JIT_INVALID_ARGUMENT);
    return error.what();
  }
  return "";
}

TEST(Target, EveryOneRoundTrips) {
  std::set<std::string> texts;
  for (TargetKind kind :
       {TargetKind::kCpu, TargetKind::kCuda, TargetKind::kHip, TargetKind::kEmulator}) {
    EXPECT_FALSE(architectures(kind).empty());
    for (std::string_view arch : architectures(kind)) {
      const Target target{kind, std::string(arch)};
      EXPECT_EQ(parse_target(text_of(target)), target);
      EXPECT_TRUE(texts.insert(text_of(target)).second) << text_of(target);
    }
  }
  EXPECT_EQ(texts.size(), 5u + 23u + 5u + 28u);
}

TEST(Target, TextsAreTheDocumentedOnes) {
  EXPECT_EQ(text_of(Target{TargetKind::kCpu, "x86-64-v4-bf16"}), "cpu:x86-64-v4-bf16");
  EXPECT_EQ(text_of(Target{TargetKind::kCuda, "sm_90a"}), "sm_90a");
  EXPECT_EQ(text_of(Target{TargetKind::kHip, "gfx942"}), "gfx942");
  EXPECT_EQ(parse_target("emu:sm_120f"), (Target{TargetKind::kEmulator, "sm_120f"}));
  EXPECT_EQ(parse_target("emu:gfx90a"), (Target{TargetKind::kEmulator, "gfx90a"}));
}

TEST(Target, RejectsAllElse) {
  for (std::string_view wrong : {"", "gpu", "cuda", "sm_70", "sm_80a", "sm_90f", "sm_130", "SM_90",
                                 "sm90", "sm_90 ", "gfx906", "x86-64", "cpu:", "cpu:x86-64-v2",
                                 "cpu:sm_90", "emu:", "emu:x86-64", "emu:emu:sm_80", "cpu:cpu"}) {
    EXPECT_NE(rejected(wrong), "") << wrong;
  }
  const std::string message = rejected("sm_70");
  EXPECT_THAT(message, HasSubstr("target is \"sm_70\"; allowed: cpu"));
  for (std::string_view listed : {"x86-64-v4-amx", "sm_75", "sm_121a", "gfx1201", "emu:"}) {
    EXPECT_THAT(message, HasSubstr(std::string(listed)));
  }
}

TEST(Target, ComputeCapability) {
  EXPECT_EQ(parse_target("sm_75").compute_capability(), 75);
  EXPECT_EQ(parse_target("sm_90").compute_capability(), 90);
  EXPECT_EQ(parse_target("sm_90a").compute_capability(), 90);
  EXPECT_EQ(parse_target("sm_120f").compute_capability(), 120);
  EXPECT_EQ(parse_target("emu:sm_103a").compute_capability(), 103);
  EXPECT_EQ(parse_target("gfx942").compute_capability(), 0);
  EXPECT_EQ(parse_target("emu:gfx942").compute_capability(), 0);
  EXPECT_EQ((Target{TargetKind::kCpu, "x86-64-v3"}).compute_capability(), 0);
}

// The kernel's own account of the processor's features (it leaves out what it does not let programs
// use).
std::set<std::string> features_of_proc_cpuinfo() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::set<std::string> flags;
    for (std::string word; words >> word;) flags.insert(word);
    return flags;
  }
  return {};
}

TEST(HostCpu, LevelAgreesWithProcCpuinfo) {
  const std::set<std::string> flags = features_of_proc_cpuinfo();
  if (flags.empty()) GTEST_SKIP() << "/proc/cpuinfo has no flags line on this machine";
  const auto all = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (!flags.contains(name)) return false;
    }
    return true;
  };
  std::string expected = "x86-64";
  if (all({"avx", "avx2", "fma", "f16c", "bmi1", "bmi2", "movbe", "abm"})) {
    expected = "x86-64-v3";
    if (all({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) {
      expected = "x86-64-v4";
      if (all({"avx512_bf16"}))
        expected = all({"amx_tile", "amx_bf16"}) ? "x86-64-v4-amx" : "x86-64-v4-bf16";
    }
  }
  const Target host = host_cpu_target();
  EXPECT_EQ(host.kind, TargetKind::kCpu);
  if (expected == "x86-64-v4-amx" && host.arch == "x86-64-v4-bf16") {
    GTEST_SKIP() << "the processor has AMX, but the kernel refused the tile-data permission";
  }
  EXPECT_EQ(host.arch, expected);
}

TEST(HostCpu, IsOneOfTheListAndTheMeaningOfCpu) {
  const Target host = host_cpu_target();
  EXPECT_EQ(parse_target(text_of(host)), host);
  EXPECT_EQ(parse_target("cpu"), host);
  EXPECT_EQ(host_cpu_target(), host);
}

TEST(HostCpu, AtMostNeverPassesTheLimitOrTheHost) {
  const auto levels = architectures(TargetKind::kCpu);
  const auto rank = [&](const Target& t) {
    return std::find(levels.begin(), levels.end(), t.arch) - levels.begin();
  };
  const Target host = host_cpu_target();
  for (std::string_view level : levels) {
    const Target limit{TargetKind::kCpu, std::string(level)};
    EXPECT_EQ(rank(host_cpu_target_at_most(limit)), std::min(rank(limit), rank(host))) << level;
  }
  EXPECT_FFPA_ERROR(host_cpu_target_at_most(Target{TargetKind::kCuda, "sm_90"}),
                    FFPA_JIT_INVALID_ARGUMENT,
                    "CPU level is \"sm_90\"; allowed: x86-64, x86-64-v3, x86-64-v4, "
                    "x86-64-v4-bf16, x86-64-v4-amx");
}

}  // namespace
}  // namespace ffpa_jit
