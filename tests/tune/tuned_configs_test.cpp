// Which row serves: nearest first, sources in order, nothing that today's search space does not
// have.
#include "tune/tuned_configs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "tools/scratch_directory.h"
#include "tune/shape_bucket.h"
#include "tune/tuning_file.h"

namespace ffpa_jit {
namespace {

using ::testing::HasSubstr;

class TunedConfigsTest : public ::testing::Test {
 protected:
  TunedConfigsTest() {
    device_.identity = "NVIDIA H200, capability 9.0, 132 multiprocessors, memory 3200 MHz";
    device_.target = parse_target("sm_80");
    device_.multiprocessors = 132;
    device_.shared_bytes_per_block = 163 << 10;
    problem_.head_dim = problem_.head_dim_v = 64;
    shape_.heads_q = shape_.heads_kv = 32;
    shape_.seqlen_q = shape_.seqlen_k = 4096;
    for (const KernelFamily* family : kernel_families()) {
      if (family->name() == "mma") family_ = family;
    }
    usual_ = family_->default_config(problem_, shape_, device_);
    const auto all = candidates(*family_, problem_, shape_, device_, TuneMode::kFast, 10);
    for (size_t i = 1; i < all.size(); ++i) others_.push_back(all[i]);
  }

  Tuning row(const KernelConfig& config, const Problem& problem, const Shape& shape) const {
    Tuning t;
    t.key = tuning_key("mma", problem, shape, device_);
    t.family = "mma";
    t.config = text_of(config);
    t.median_us = 500;
    t.spread_us = 2;
    t.samples = 12;
    t.library_version = library_version();
    return t;
  }
  std::optional<TunedConfig> found(TunedConfigs& configs, const Problem& problem,
                                   const Shape& shape) {
    return configs.find(*family_, problem, shape, device_);
  }
  static TunedConfigs::Options own() { return {.shipped = false}; }
  std::shared_ptr<Store> memory() { return Store::open({}, null_logger()); }

  DeviceInfo device_;
  Problem problem_;
  Shape shape_;
  const KernelFamily* family_ = nullptr;
  KernelConfig usual_;
  std::vector<KernelConfig> others_;
};

TEST_F(TunedConfigsTest, ExactRow) {
  TunedConfigs configs(memory(), own(), null_logger());
  EXPECT_FALSE(found(configs, problem_, shape_));
  configs.put(row(others_[0], problem_, shape_));
  const auto tuned = found(configs, problem_, shape_);
  ASSERT_TRUE(tuned);
  EXPECT_EQ(tuned->config, others_[0]);
  EXPECT_EQ(tuned->distance, 0);
  EXPECT_FALSE(tuned->other_version);
  EXPECT_THAT(tuned->reason(), HasSubstr("q=4096 k=4096 heads=32"));
  EXPECT_THAT(tuned->reason(), HasSubstr("500.0 us"));
}

TEST_F(TunedConfigsTest, NearestShape) {
  TunedConfigs configs(memory(), own(), null_logger());
  Shape far = shape_, near = shape_, asked = shape_;
  far.seqlen_q = 1024;
  near.seqlen_q = 2048;
  asked.seqlen_q = 2 * 4096;
  configs.put(row(others_[0], problem_, far));
  configs.put(row(others_[1], problem_, near));
  EXPECT_EQ(found(configs, problem_, shape_)->config, others_[1]);
  EXPECT_EQ(found(configs, problem_, shape_)->distance, 1);
  EXPECT_EQ(found(configs, problem_, far)->config, others_[0]);
  EXPECT_EQ(found(configs, problem_, asked)->config, others_[1]);
  asked.seqlen_q = 8 * 4096;
  EXPECT_FALSE(found(configs, problem_, asked)) << "four classes away";
  Shape decode = shape_;
  decode.seqlen_q = 1;
  EXPECT_FALSE(found(configs, problem_, decode));
}

TEST_F(TunedConfigsTest, FactsThatMakeAnotherKernelDoNotMatch) {
  TunedConfigs configs(memory(), own(), null_logger());
  configs.put(row(others_[0], problem_, shape_));
  Problem problem = problem_;
  problem.lse = true;
  EXPECT_EQ(found(configs, problem, shape_)->config, others_[0]);
  problem.dtype = DType::kFp16;
  EXPECT_EQ(found(configs, problem, shape_)->distance, 2);
  EXPECT_THAT(found(configs, problem, shape_)->reason(), HasSubstr("the nearest"));
  for (const auto change : std::initializer_list<void (*)(Problem&)>{
           [](Problem& p) { p.causal = p.window_right = true; },
           [](Problem& p) { p.has_mask = true; }, [](Problem& p) { p.dropout = true; },
           [](Problem& p) { p.head_dim = p.head_dim_v = 128; },
           [](Problem& p) { p.layout = Layout::kVarlen; }, [](Problem& p) { p.softcap = true; }}) {
    Problem other = problem_;
    change(other);
    EXPECT_FALSE(found(configs, other, shape_)) << text_of(other);
  }
}

TEST_F(TunedConfigsTest, RowsOutsideTodaysSpaceArePassedOver) {
  TunedConfigs configs(memory(), own(), null_logger());
  KernelConfig stranger = usual_;
  stranger.cluster = 4;
  configs.put(row(stranger, problem_, shape_));
  EXPECT_FALSE(found(configs, problem_, shape_));
  Tuning broken = row(others_[0], problem_, shape_);
  broken.config = "block_m=many";
  configs.put(broken);
  EXPECT_FALSE(found(configs, problem_, shape_));
  broken.config = text_of(others_[0]);
  broken.key.shape_bucket = "mma what";
  configs.put(broken);
  EXPECT_FALSE(found(configs, problem_, shape_));
  // The next nearest serves in its place.
  Shape near = shape_;
  near.seqlen_q = 2048;
  configs.put(row(others_[1], problem_, near));
  EXPECT_EQ(found(configs, problem_, shape_)->config, others_[1]);
}

TEST_F(TunedConfigsTest, OtherFamiliesAndDevicesDoNotMatch) {
  TunedConfigs configs(memory(), own(), null_logger());
  Tuning other = row(others_[0], problem_, shape_);
  other.family = "wgmma";
  other.key.shape_bucket = "wgmma q=4096 k=4096 heads=32";
  configs.put(other);
  Tuning elsewhere = row(others_[0], problem_, shape_);
  elsewhere.key.device = "NVIDIA A100";
  configs.put(elsewhere);
  EXPECT_FALSE(found(configs, problem_, shape_));
}

TEST_F(TunedConfigsTest, FilesServeBehindTheCache) {
  const test::ScratchDirectory scratch;
  const auto path = scratch.path() / "h200.json";
  std::ofstream(path) << tuning_file_text(device_.identity, {row(others_[1], problem_, shape_)});
  std::ofstream(scratch.path() / "broken.json") << "{";
  TunedConfigs::Options options{.directory = scratch.path(), .shipped = false};
  TunedConfigs configs(memory(), options, null_logger());
  EXPECT_EQ(found(configs, problem_, shape_)->config, others_[1]);
  EXPECT_EQ(found(configs, problem_, shape_)->source, path.string());
  configs.put(row(others_[0], problem_, shape_));
  EXPECT_EQ(found(configs, problem_, shape_)->config, others_[0]);
  EXPECT_EQ(found(configs, problem_, shape_)->source, kCacheSource);
  options.skip = true;
  TunedConfigs skipping(memory(), options, null_logger());
  EXPECT_FALSE(found(skipping, problem_, shape_));
}

TEST_F(TunedConfigsTest, AnotherVersionsRowSaysSo) {
  TunedConfigs configs(memory(), own(), null_logger());
  Tuning old = row(others_[0], problem_, shape_);
  old.library_version = "0.0.1";
  configs.put(old);
  EXPECT_TRUE(found(configs, problem_, shape_)->other_version);
}

// A device that is not here has no memory clock: what it is warmed up with is what it will find.
TEST(SameDevice, MemoryClockMayBeUnknown) {
  const std::string_view here = "NVIDIA H200, capability 9.0, 132 multiprocessors, memory 3200 MHz";
  EXPECT_TRUE(same_device(here, here));
  EXPECT_TRUE(same_device(here, "NVIDIA H200, capability 9.0, 132 multiprocessors"));
  EXPECT_TRUE(same_device("NVIDIA H200, capability 9.0, 132 multiprocessors", here));
  EXPECT_FALSE(
      same_device(here, "NVIDIA H200, capability 9.0, 132 multiprocessors, memory 2600 MHz"));
  EXPECT_FALSE(same_device(here, "NVIDIA H200, capability 9.0, 128 multiprocessors"));
}

TEST(TuningFile, RoundTripAndErrors) {
  Tuning t;
  t.key = {"device \"x\"", "forward bf16", "mma q=1 k=2 heads=3"};
  t.family = "mma";
  t.config = "block_m=64";
  t.median_us = 12.5;
  t.runner_up = "block_m=32";
  t.runner_up_us = 13;
  t.samples = 9;
  t.library_version = "0.1.0";
  t.driver_version = "CUDA 13.0";
  Tuning other = t;
  other.key.problem = "another";
  const std::string text = tuning_file_text(t.key.device, {t, other});
  const std::vector<Tuning> read = parse_tuning_file(text, "x.json");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].key, other.key);
  EXPECT_EQ(read[1].key, t.key);
  EXPECT_EQ(read[1].median_us, 12.5);
  EXPECT_EQ(read[1].runner_up, "block_m=32");
  EXPECT_EQ(tuning_file_text(t.key.device, {other, t}), text) << "sorted";
  for (const char* broken :
       {"", "[]", "{}", "{\"device\": 1, \"tunings\": []}", "{\"device\": \"x\", \"tunings\": [1]}",
        "{\"device\": \"x\", \"tunings\": [{\"problem\": 3}]}"}) {
    try {
      parse_tuning_file(broken, "broken.json");
      ADD_FAILURE() << broken;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), FFPA_JIT_INVALID_ARGUMENT);
      EXPECT_THAT(error.what(), HasSubstr("broken.json"));
    }
  }
}

// What ships must be served: every row names a problem, a shape and a config that this version has.
TEST(TuningDistance, CountsClassesAndMinorFacts) {
  const auto shape = [](int64_t n) {
    Shape shape;
    shape.heads_q = shape.heads_kv = 32;
    shape.seqlen_q = shape.seqlen_k = n;
    return shape;
  };
  Problem problem;
  problem.head_dim = problem.head_dim_v = 128;
  Problem with_lse = problem, causal = problem;
  with_lse.lse = true;
  causal.causal = causal.window_right = true;
  EXPECT_EQ(tuning_distance(problem, shape(8192), problem, shape(8200)), 0);
  EXPECT_EQ(tuning_distance(problem, shape(8192), problem, shape(4096)), 2);
  EXPECT_EQ(tuning_distance(problem, shape(8192), with_lse, shape(8192)), 1);
  EXPECT_EQ(tuning_distance(problem, shape(8192), with_lse, shape(4096)), std::nullopt);
  EXPECT_EQ(tuning_distance(problem, shape(8192), problem, shape(2048)), std::nullopt);
  EXPECT_EQ(tuning_distance(problem, shape(8192), causal, shape(8192)), std::nullopt);
}

TEST(TuningFile, ShippedRowsHold) {
  for (const EmbeddedTuningFile& file : embedded_tuning_files()) {
    for (const Tuning& t : parse_tuning_file(file.text, std::string(file.name))) {
      const Problem problem = parse_problem(t.key.problem);
      const auto [family_name, bucket] = parse_tuning_shape(t.key.shape_bucket);
      EXPECT_EQ(family_name, t.family);
      const Shape shape = parse_bucket(problem, bucket);
      DeviceInfo device;
      device.identity = t.key.device;
      ASSERT_NE(t.key.device.find("H200"), std::string::npos)
          << "a new device: state its facts here";
      device.target = parse_target("sm_90a");
      device.multiprocessors = 132;
      device.shared_bytes_per_block = 227 << 10;
      bool known = false;
      for (const KernelFamily* family : kernel_families()) {
        if (family->name() != t.family || family->refuses(problem, device.target)) continue;
        known = true;
        EXPECT_TRUE(is_candidate(*family, problem, shape, device, parse_config(t.config)))
            << file.name << ": " << t.key.problem << " " << t.key.shape_bucket << " " << t.config;
      }
      EXPECT_TRUE(known) << t.family;
    }
  }
}

}  // namespace
}  // namespace ffpa_jit
