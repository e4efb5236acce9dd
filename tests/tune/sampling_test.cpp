#include "tune/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tune/occupancy.h"
#include "tune/output_comparison.h"

namespace ffpa_jit {
namespace {

TEST(Summary, MedianAndSpread) {
  const std::vector<double> odd{5, 1, 3}, even{4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(summary_of(odd).median, 3);
  EXPECT_DOUBLE_EQ(summary_of(even).median, 2.5);
  EXPECT_DOUBLE_EQ(summary_of(odd).spread, 1.4826 * 2);
  EXPECT_EQ(summary_of(even).samples, 4);
  EXPECT_EQ(summary_of({}).samples, 0);
  // One sample in ten that something disturbed moves neither.
  const std::vector<double> disturbed{1, 1, 1, 1, 1, 1, 1, 1, 1, 900};
  EXPECT_DOUBLE_EQ(summary_of(disturbed).median, 1);
  EXPECT_DOUBLE_EQ(summary_of(disturbed).spread, 0);
}

TEST(Comparison, OfPairs) {
  std::vector<double> a, b;
  for (int i = 1; i <= 12; ++i) {
    a.push_back(10 * i);
    b.push_back(11 * i);
  }
  const Comparison lead = compare(a, b);
  EXPECT_NEAR(lead.ratio, 1.1, 1e-12);
  EXPECT_TRUE(lead.faster_by(0.05));
  EXPECT_FALSE(lead.faster_by(0.2));
  EXPECT_TRUE(compare(b, a).slower());
  const std::vector<double> few(a.begin(), a.begin() + 9);
  EXPECT_FALSE(compare(few, b).faster_by(0)) << "too few to say";
  EXPECT_FALSE(compare(b, few).slower());
  EXPECT_EQ(compare({}, b).rounds, 0);
}

// The sign test's tables: the chance of k - 1 or fewer heads of n coins stays below 0.001.
TEST(Comparison, BoundsAreOrderStatistics) {
  const auto bounds_of = [](int n) {
    std::vector<double> a(static_cast<size_t>(n), 1), b;
    for (int i = 1; i <= n; ++i) b.push_back(i);
    const Comparison c = compare(a, b);
    return std::pair(c.low, c.high);
  };
  EXPECT_EQ(bounds_of(10), std::pair(1.0, 10.0));  // 2^-10
  EXPECT_EQ(bounds_of(13), std::pair(1.0, 13.0));  // 2 or fewer: 14 / 8192 is too likely
  EXPECT_EQ(bounds_of(14), std::pair(2.0, 13.0));  // 1 or fewer: 15 / 16384
  EXPECT_EQ(bounds_of(20), std::pair(3.0, 18.0));  // 3 or fewer: 0.0013; 2 or fewer: 0.0002
}

DeviceInfo h200() {
  DeviceInfo device;
  device.target = parse_target("sm_90a");
  device.shared_bytes_per_block = 227 << 10;
  return device;
}

BuiltStep step_of(int threads, int registers, uint32_t shared) {
  BuiltStep step;
  step.threads = static_cast<uint32_t>(threads);
  step.resources.registers = registers;
  step.dynamic_shared_bytes = shared;
  return step;
}

// Against CUDA's occupancy calculator for compute capability 9.0: 64K registers, 228 KiB of shared
// memory of which a block reserves 1 KiB, 2048 threads, 32 blocks.
TEST(Occupancy, AsTheCalculator) {
  EXPECT_EQ(resident_warps(step_of(128, 128, 0), h200()), 16);
  EXPECT_EQ(resident_warps(step_of(128, 255, 0), h200()), 8);
  EXPECT_EQ(resident_warps(step_of(256, 32, 0), h200()), 64);
  EXPECT_EQ(resident_warps(step_of(128, 32, 100 << 10), h200()), 8);
  EXPECT_EQ(resident_warps(step_of(32, 16, 0), h200()), 32);
  EXPECT_EQ(resident_warps(step_of(384, 168, 227 << 10), h200()), 12);
  EXPECT_EQ(resident_warps(step_of(128, 32, 228 << 10), h200()), 0);
  EXPECT_EQ(resident_warps(step_of(512, 255, 0), h200()), 0);
}

std::span<const std::byte> bytes_of_floats(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

TEST(CompareOutputs, RoundingIsNoDifference) {
  std::vector<float> a(100'000), b;
  for (size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<float>(i));
  b = a;
  for (float& value : b) value *= 1 + 1e-6f;
  EXPECT_EQ(compare_outputs(bytes_of_floats(a), bytes_of_floats(b), DType::kFp32), "");
  EXPECT_EQ(compare_outputs(bytes_of_floats(a), bytes_of_floats(a), DType::kFp32), "");
}

TEST(CompareOutputs, OneWrongTileAmongManyIsSeen) {
  std::vector<float> a(10'000'000), b;
  for (size_t i = 0; i < a.size(); ++i) a[i] = std::sin(static_cast<float>(i % 1000));
  b = a;
  for (size_t i = 5'000'000; i < 5'000'512; ++i) b[i] = 0;
  EXPECT_NE(compare_outputs(bytes_of_floats(a), bytes_of_floats(b), DType::kFp32), "");
  b = a;
  for (float& value : b) value *= 1.001f;
  EXPECT_NE(compare_outputs(bytes_of_floats(a), bytes_of_floats(b), DType::kFp32), "");
}

TEST(CompareOutputs, NaNsMustBeTheSameOnes) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  const std::vector<float> a{1, nan, -inf}, same{1, nan, -inf}, other{1, 2, -inf},
      sign{1, nan, inf};
  EXPECT_EQ(compare_outputs(bytes_of_floats(a), bytes_of_floats(same), DType::kFp32), "");
  EXPECT_NE(compare_outputs(bytes_of_floats(a), bytes_of_floats(other), DType::kFp32), "");
  EXPECT_NE(compare_outputs(bytes_of_floats(a), bytes_of_floats(sign), DType::kFp32), "");
  EXPECT_NE(compare_outputs(bytes_of_floats(a), bytes_of_floats({1}), DType::kFp32), "");
}

}  // namespace
}  // namespace ffpa_jit
