#include "device/cpu/cpu_facts.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ffpa_jit {
namespace {

class CgroupTree : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "ffpa_cgroup_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  std::filesystem::path root_;
};

TEST_F(CgroupTree, Version2TakesTheTightestAncestor) {
  write("a/b/cpu.max", "max 100000\n");
  write("a/cpu.max", "250000 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root_, "0::/a/b\n"), 3);
  write("a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root_, "0::/a/b\n"), 1);
}

TEST_F(CgroupTree, Version1) {
  write("cpu/a/cpu.cfs_quota_us", "400000\n");
  write("cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroup_cpu_limit(root_, "9:name=systemd:/\n4:cpu,cpuacct:/a\n3:cpuset:/a\n"), 4);
  write("cpu/a/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cgroup_cpu_limit(root_, "4:cpu,cpuacct:/a\n"), 0);
}

TEST_F(CgroupTree, NothingReadableMeansNoLimit) {
  EXPECT_EQ(cgroup_cpu_limit(root_, "0::/a/b\n"), 0);
  EXPECT_EQ(cgroup_cpu_limit(root_, ""), 0);
  EXPECT_EQ(cgroup_cpu_limit(root_, "nonsense\n1:\n"), 0);
  write("cpu.max", "nonsense");
  EXPECT_EQ(cgroup_cpu_limit(root_, "0::/\n"), 0);
}

TEST(CpuFacts, AreRead) {
  const CpuFacts facts = read_cpu_facts();
  EXPECT_FALSE(facts.model_name.empty());
  EXPECT_GE(facts.usable_threads, 1);
  EXPECT_GE(facts.l2_bytes, 64 << 10);
  EXPECT_GT(facts.memory_bytes, int64_t{64} << 20);
}

}  // namespace
}  // namespace ffpa_jit
