// Tuning inside a Runtime, on this machine's CPU: a workbench that builds, judges and times real
// kernels, autotune at the first call, tuned configs that serve, and the record of what ran.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/attention_args.h"
#include "base/error.h"
#include "codegen/template_loader.h"
#include "ffpa_jit/ffpa_jit.hpp"
#include "runtime/local_workbench.h"
#include "tools/scratch_directory.h"

namespace ffpa_jit {
namespace {

using ::testing::HasSubstr;

class RuntimeTuning : public ::testing::Test {
 protected:
  static constexpr int64_t kHeads = 2, kLength = 96, kDim = 32;

  RuntimeTuning() {
    for (std::vector<float>* tensor : {&q_, &k_, &v_, &o_}) {
      tensor->resize(kHeads * kLength * kDim);
      for (size_t i = 0; i < tensor->size(); ++i)
        (*tensor)[i] = std::sin(static_cast<float>(i * (1 + q_.size())));
    }
    args_.device_kind = FFPA_JIT_CPU;
    args_.q = tensor(q_);
    args_.k = tensor(k_);
    args_.v = tensor(v_);
    args_.o = tensor(o_);
  }

  static ffpa_jit_tensor tensor(std::vector<float>& data) {
    return ffpa::tensor(data.data(), FFPA_JIT_FP32, {1, kHeads, kLength, kDim});
  }
  AttentionCall call() const { return api::checked_call(args_, api::Purpose::kLaunch); }

  RuntimeOptions options() {
    RuntimeOptions out;
    out.store.directory = scratch_ / "cache";
    out.num_threads = 2;
    out.log = make_logger(spdlog::level::info, [this](auto, std::string_view line) {
      log_ += std::string(line) + "\n";
    });
    return out;
  }

  // Whether the CPU's kernels can be compiled here; else why not.
  bool can_compile(Runtime& runtime) {
    return runtime.compilers().find(runtime.devices().open({})->info().target, &why_not_) !=
           nullptr;
  }
  const KernelFamily& sdpa(Runtime& runtime) {
    for (const KernelFamily* family : kernel_families()) {
      if (family->name() == "sdpa" &&
          !family->refuses(call().problem, runtime.devices().open({})->info().target)) {
        return *family;
      }
    }
    throw Error(FFPA_JIT_INTERNAL, "no sdpa for the CPU");
  }

  test::ScratchDirectory scratch_;
  std::vector<float> q_, k_, v_, o_;
  ffpa::Attention args_;
  std::string log_, why_not_;
};

#define NEEDS_COMPILER(runtime) \
  if (!can_compile(runtime)) GTEST_SKIP() << "no compiler for the CPU here: " << why_not_

TEST_F(RuntimeTuning, WorkbenchLeavesTheCallersOutputAlone) {
  Runtime runtime(options());
  NEEDS_COMPILER(runtime);
  const std::vector<float> before = o_;
  LocalWorkbench bench(runtime, call(), sdpa(runtime), {.jobs = 2, .sample_us = 100});
  const auto configs =
      candidates(sdpa(runtime), call().problem, call().shape, bench.device(), TuneMode::kFast, 4);
  ASSERT_GE(configs.size(), 3u);
  for (const Built& built : bench.build(configs)) {
    EXPECT_EQ(built.failure, "");
    EXPECT_EQ(built.steps.size(), 1u);
    EXPECT_FALSE(built.cache_hit);
  }
  for (const KernelConfig& config : configs) {
    EXPECT_EQ(bench.check(config), "") << text_of(config);
    EXPECT_GT(bench.time_us(config), 0);
  }
  EXPECT_EQ(o_, before);
  KernelConfig impossible = configs[0];
  impossible.block_n = 17;
  EXPECT_THAT(bench.build(std::span(&impossible, 1))[0].failure, HasSubstr("block_n"));
}

TEST_F(RuntimeTuning, AutotuneOnceThenServe) {
  RuntimeOptions wanted = options();
  wanted.autotune = TuneMode::kFast;
  {
    Runtime runtime(wanted);
    NEEDS_COMPILER(runtime);
    runtime.forward(call());
    EXPECT_THAT(log_, HasSubstr("tuned 'forward fp32"));
    const std::vector<Tuning> rows = runtime.store().tunings("");
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].family, "sdpa");
    EXPECT_EQ(rows[0].key.shape_bucket, "sdpa q=64 k=64 heads=2");
    EXPECT_EQ(rows[0].library_version, library_version());
    EXPECT_GT(rows[0].median_us, 0);
    EXPECT_GT(rows[0].samples, 0);
    EXPECT_THAT(runtime.prepare(call())->reason, HasSubstr("config tuned for q=64 k=64 heads=2"));
    EXPECT_EQ(text_of(runtime.prepare(call())->plan.config), rows[0].config);
  }
  // Another process finds it and measures nothing.
  log_.clear();
  Runtime again(wanted);
  again.forward(call());
  EXPECT_THAT(log_, ::testing::Not(HasSubstr("tuned 'forward")));
}

TEST_F(RuntimeTuning, AutotuneIsAnOptionOfTheLibrary) {
  {
    Runtime runtime(options());
    NEEDS_COMPILER(runtime);
  }
  ffpa::RuntimeOptions library;
  library.cache_dir = (scratch_ / "library").string();
  library.num_threads = 1;
  library.autotune = FFPA_JIT_AUTOTUNE_FAST;
  ffpa::Runtime runtime(library);
  runtime.forward(args_);
  const ffpa::Plan plan = runtime.prepare(args_);
  EXPECT_THAT(plan.info().reason, HasSubstr("config tuned for q=64 k=64 heads=2"));
  library.autotune = static_cast<ffpa_jit_autotune>(9);
  try {
    ffpa::Runtime refused(library);
    FAIL();
  } catch (const ffpa::Error& error) {
    EXPECT_EQ(error.status(), FFPA_JIT_INVALID_ARGUMENT);
    EXPECT_THAT(error.what(), HasSubstr("autotune is 9"));
  }
}

TEST_F(RuntimeTuning, ATunedConfigServesUnlessSkipped) {
  Runtime runtime(options());
  NEEDS_COMPILER(runtime);
  const DeviceInfo device = runtime.devices().open({})->info();
  const auto configs =
      candidates(sdpa(runtime), call().problem, call().shape, device, TuneMode::kFast, 4);
  Tuning row;
  row.key = tuning_key("sdpa", call().problem, call().shape, device);
  row.family = "sdpa";
  row.config = text_of(configs.at(1));
  row.library_version = "0.0.1";  // of another version: checked again, then stamped
  runtime.tuned_configs().put(row);
  EXPECT_EQ(text_of(runtime.prepare(call())->plan.config), row.config);
  EXPECT_EQ(runtime.store().find_tuning(row.key)->library_version, library_version());

  RuntimeOptions skipping = options();
  const std::vector<Environment::Setting> settings{{"FFPA_SKIP_PERSISIT_TUNED_CONFIG", "1"}};
  skipping.environment = Environment::from(settings);
  Runtime other(skipping);
  EXPECT_EQ(other.prepare(call())->plan.config, configs[0]);
}

// Where preference alone decides, what was measured on the device decides instead; what was asked
// for stays.
TEST(MeasuredPreference, TheFasterFamilyServes) {
  const std::shared_ptr<Store> store = Store::open({}, null_logger());
  const auto tuned =
      std::make_shared<TunedConfigs>(store, TunedConfigs::Options{.shipped = false}, null_logger());
  const Environment environment;
  const Planner planner(environment, Policy::kNative,
                        std::make_shared<codegen::TemplateEngine>(codegen::default_templates({})),
                        tuned);
  PlanRequest request;
  request.problem.head_dim = request.problem.head_dim_v = 64;
  request.shape.heads_q = request.shape.heads_kv = 32;
  request.shape.seqlen_q = request.shape.seqlen_k = 4096;
  request.device.identity = "a device";
  request.device.target = parse_target("sm_80");
  request.device.multiprocessors = 108;
  request.device.shared_bytes_per_block = 163 << 10;
  const auto put = [&](std::string_view name, double us) {
    for (const KernelFamily* family : kernel_families()) {
      if (family->name() != name || family->refuses(request.problem, request.device.target))
        continue;
      Tuning row;
      row.key = tuning_key(name, request.problem, request.shape, request.device);
      row.family = name;
      row.config = text_of(family->default_config(request.problem, request.shape, request.device));
      row.median_us = us;
      tuned->put(row);
    }
  };
  const auto serving = [&] { return std::string(planner.route(request).family->name()); };
  EXPECT_EQ(serving(), "mma");
  put("sdpa", 90);
  EXPECT_EQ(serving(), "mma") << "mma was never measured";
  put("mma", 91);
  EXPECT_EQ(serving(), "mma") << "a lead within the noise of two sessions";
  put("mma", 100);
  EXPECT_EQ(serving(), "sdpa");
  EXPECT_THAT(planner.route(request).reason,
              HasSubstr("measured to be faster here than mma: 90.0 us, 100.0 us"));
  EXPECT_EQ(planner.plan(request).plan.family, "sdpa");
  request.family = "mma";
  EXPECT_EQ(serving(), "mma");
  request.family.clear();
  request.shape.seqlen_q = request.shape.seqlen_k = 16384;
  EXPECT_EQ(serving(), "mma") << "another shape";
}

TEST_F(RuntimeTuning, RecordsEachProblemOnce) {
  RuntimeOptions recording = options();
  const std::string path = (scratch_ / "problems.jsonl").string();
  const std::vector<Environment::Setting> settings{{"FFPA_JIT_RECORD", path}};
  recording.environment = Environment::from(settings);
  Runtime runtime(recording);
  runtime.forward(call());
  runtime.forward(call());
  args_.is_causal = 1;
  runtime.forward(call());
  std::istringstream lines(test::contents(path));
  std::vector<nlohmann::json> read;
  for (std::string line; std::getline(lines, line);) read.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1]["problem"], text_of(call().problem));
  EXPECT_EQ(read[0]["device"], "cpu");
  EXPECT_EQ(read[0]["shape"]["seqlen_q"], kLength);
  EXPECT_THAT(read[1]["problem"].get<std::string>(), HasSubstr("causal"));
  EXPECT_EQ(read[1]["window"][1], 0);
}

TEST_F(RuntimeTuning, ARecordThatCannotBeWrittenIsNoFailure) {
  RuntimeOptions recording = options();
  const std::vector<Environment::Setting> settings{
      {"FFPA_JIT_RECORD", "/no/such/directory/problems.jsonl"}};
  recording.environment = Environment::from(settings);
  Runtime runtime(recording);
  runtime.forward(call());
  EXPECT_THAT(log_, HasSubstr("/no/such/directory/problems.jsonl"));
}

}  // namespace
}  // namespace ffpa_jit
