// The families' search spaces: every candidate can be planned, the default comes first.
#include "plan/search_space.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "plan/kernel_family.h"
#include "tune/shape_bucket.h"

namespace ffpa_jit {
namespace {

DeviceInfo device_of(std::string_view target) {
  DeviceInfo device;
  device.target = parse_target(target);
  device.multiprocessors = device.target.kind == TargetKind::kCpu ? 8 : 132;
  device.shared_bytes_per_block = device.target.kind == TargetKind::kCpu ? 1 << 20 : 227 << 10;
  return device;
}

Problem problem_of(int head_dim) {
  Problem problem;
  problem.head_dim = problem.head_dim_v = head_dim;
  return problem;
}

Shape shape_of(int64_t q, int64_t k) {
  Shape shape;
  shape.heads_q = shape.heads_kv = 32;
  shape.seqlen_q = shape.total_q = q;
  shape.seqlen_k = shape.total_k = k;
  return shape;
}

TEST(SearchSpace, CandidatesOfEveryFamily) {
  size_t tunable = 0;
  for (const char* target : {"cpu:x86-64-v3", "cpu:x86-64-v4-amx", "sm_80", "sm_89", "sm_90a"}) {
    const DeviceInfo device = device_of(target);
    for (const KernelFamily* family : kernel_families()) {
      for (const int head_dim : {64, 128, 320, 512, 1024}) {
        for (const int64_t q : {1, 4096}) {
          const Problem problem = problem_of(head_dim);
          const Shape shape = shape_of(q, 4096);
          if (family->refuses(problem, device.target)) continue;
          const KernelConfig usual = family->default_config(problem, shape, device);
          for (const TuneMode mode : {TuneMode::kFast, TuneMode::kMax}) {
            const auto all = candidates(*family, problem, shape, device, mode, 100);
            ASSERT_FALSE(all.empty());
            EXPECT_EQ(all.front(), usual);
            std::set<std::string> distinct;
            for (const KernelConfig& config : all) {
              EXPECT_NO_THROW(family->plan(problem, config, device)) << text_of(config);
              EXPECT_TRUE(is_candidate(*family, problem, shape, device, config)) << text_of(config);
              distinct.insert(text_of(config));
            }
            EXPECT_EQ(distinct.size(), all.size());
            tunable += all.size() > 1;
            EXPECT_LE(candidates(*family, problem, shape, device, mode, 5).size(), 5u);
          }
        }
      }
    }
  }
  EXPECT_GT(tunable, 20u);
}

TEST(SearchSpace, FastIsPartOfMax) {
  const DeviceInfo device = device_of("sm_80");
  for (const KernelFamily* family : kernel_families()) {
    const Problem problem = problem_of(128);
    const Shape shape = shape_of(4096, 4096);
    if (family->refuses(problem, device.target)) continue;
    const auto fast = candidates(*family, problem, shape, device, TuneMode::kFast, 100'000);
    const auto max = candidates(*family, problem, shape, device, TuneMode::kMax, 100'000);
    EXPECT_LE(fast.size(), max.size());
    for (const KernelConfig& config : fast) {
      EXPECT_NE(std::find(max.begin(), max.end(), config), max.end()) << text_of(config);
    }
  }
}

TEST(SearchSpace, StrangersAreNoCandidates) {
  const DeviceInfo device = device_of("cpu:x86-64-v3");
  for (const KernelFamily* family : kernel_families()) {
    const Problem problem = problem_of(64);
    if (family->name() != "sdpa" || family->refuses(problem, device.target)) continue;
    const Shape shape = shape_of(512, 512);
    KernelConfig config = family->default_config(problem, shape, device);
    config.cluster = 2;
    EXPECT_FALSE(is_candidate(*family, problem, shape, device, config));
    config = family->default_config(problem, shape, device);
    config.block_n = 17;
    EXPECT_FALSE(is_candidate(*family, problem, shape, device, config));
  }
}

TEST(ShapeBucket, TextOfAClass) {
  const Problem problem = problem_of(64);
  EXPECT_EQ(bucket_text(problem, shape_of(5000, 9000)), "q=4096 k=8192 heads=32");
  EXPECT_EQ(bucket_text(problem, shape_of(1, 7)), "q=1 k=7 heads=32");
  for (const int64_t q : {1, 3, 8, 100, 8192}) {
    const Shape shape = shape_of(q, 3 * q + 1);
    const std::string text = bucket_text(problem, shape);
    EXPECT_EQ(bucket_text(problem, parse_bucket(problem, text)), text);
    EXPECT_EQ(bucket_distance(shape, parse_bucket(problem, text)), 0);
  }
  EXPECT_THROW(parse_bucket(problem, "q=1 k=2"), Error);
  EXPECT_THROW(parse_bucket(problem, "k=2 q=1 heads=3"), Error);
  EXPECT_THROW(parse_bucket(problem, "q=1 k=2 heads=3 more"), Error);
}

TEST(ShapeBucket, Distance) {
  EXPECT_EQ(bucket_distance(shape_of(1024, 1024), shape_of(2048, 1024)), 1);
  EXPECT_EQ(bucket_distance(shape_of(1024, 1024), shape_of(4096, 4096)), 4);
  EXPECT_EQ(bucket_distance(shape_of(1024, 1024), shape_of(1, 1024)), std::nullopt)
      << "decode is another kernel";
  EXPECT_EQ(bucket_distance(shape_of(1, 1024), shape_of(1, 4096)), std::nullopt)
      << "another split of the keys";
  EXPECT_EQ(bucket_distance(shape_of(1, 1024), shape_of(2, 1024)), 1);
}

}  // namespace
}  // namespace ffpa_jit
