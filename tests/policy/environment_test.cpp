#include "policy/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <set>
#include <sstream>

#include "base/error.h"

namespace ffpa_jit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Settings = std::vector<Environment::Setting>;

Environment from(const Settings& settings) { return Environment::from(settings); }

std::string message_of(const Settings& settings) {
  try {
    Environment::from(settings);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), FFPA_JIT_INVALID_ARGUMENT);
    return error.what();
  }
  return "";
}

const EnvironmentEntry& entry(const Environment& environment, std::string_view name) {
  for (const EnvironmentEntry& e : environment.entries()) {
    if (e.variable->name == name) return e;
  }
  throw std::runtime_error("no such entry");
}

TEST(Environment, DefaultsAreTheDocumentedOnes) {
  const Environment e = from({});
  EXPECT_TRUE(e.cache_dir.empty());
  EXPECT_TRUE(e.cache_path.empty());
  EXPECT_EQ(e.cache_limit_bytes, int64_t{4} << 30);
  EXPECT_EQ(e.compiler_match, CompilerMatch::kPreferred);
  EXPECT_TRUE(e.template_dir.empty());
  EXPECT_EQ(e.log_level, spdlog::level::warn);
  EXPECT_EQ(e.policy, Policy::kNative);
  EXPECT_EQ(e.num_threads, 0);
  EXPECT_EQ(e.compile_time_limit, std::chrono::milliseconds(120'000));
  EXPECT_FALSE(e.cpu_level);
  EXPECT_EQ(e.nvrtc, "");
  EXPECT_EQ(e.clang_plugin, "");
  EXPECT_EQ(e.family, "");
  EXPECT_TRUE(e.allow_small_d && e.cuda_allow_small_d && e.triton_allow_small_d &&
              e.cute_allow_small_d);
  EXPECT_FALSE(e.force_no_fallback);
  EXPECT_TRUE(e.warnings().empty());
}

TEST(Environment, ReadsEveryVariable) {
  const Environment e = from({
      {"FFPA_JIT_CACHE_DIR", "/tmp/c"},
      {"FFPA_JIT_CACHE_PATH", "/a.db::/b.db:"},
      {"FFPA_JIT_CACHE_LIMIT", "512m"},
      {"FFPA_JIT_COMPILER_MATCH", "exact"},
      {"FFPA_JIT_TEMPLATE_DIR", "templates"},
      {"FFPA_JIT_LOG_LEVEL", "DEBUG"},
      {"FFPA_JIT_POLICY", "reference"},
      {"FFPA_JIT_NUM_THREADS", "3"},
      {"FFPA_JIT_COMPILE_TIME_LIMIT", "2500"},
      {"FFPA_JIT_CPU_LEVEL", "x86-64-v3"},
      {"FFPA_JIT_NVRTC", "libnvrtc.so.13"},
      {"FFPA_JIT_CLANG_PLUGIN", "/opt/p.so"},
      {"FFPA_JIT_FAMILY", "sdpa"},
      {"FFPA_JIT_ALLOW_SMALL_D", "0"},
      {"FFPA_CUDA_ALLOW_SMALL_D", "no"},
      {"FFPA_TRITON_ALLOW_SMALL_D", "False"},
      {"FFPA_CUTE_ALLOW_SMALL_D", "off"},
      {"FFPA_FORCE_NO_SDPA_FALLBACK", "1"},
      {"FFPA_JIT_EMULATOR_SCHEDULE", "shuffle:7"},
      {"FFPA_JIT_EMULATOR_RACES", "0"},
      {"FFPA_JIT_SKIP_TUNED", "1"},
      {"FFPA_JIT_TUNED_CONFIG_DIR", "/opt/tuned"},
      {"FFPA_JIT_AUTOTUNE", "Max"},
      {"FFPA_JIT_RECORD", "problems.jsonl"},
  });
  EXPECT_EQ(e.cache_dir, "/tmp/c");
  EXPECT_THAT(e.cache_path, ElementsAre("/a.db", "/b.db"));
  EXPECT_EQ(e.cache_limit_bytes, int64_t{512} << 20);
  EXPECT_EQ(e.compiler_match, CompilerMatch::kExact);
  EXPECT_EQ(e.template_dir, "templates");
  EXPECT_EQ(e.log_level, spdlog::level::debug);
  EXPECT_EQ(e.policy, Policy::kReference);
  EXPECT_EQ(e.num_threads, 3);
  EXPECT_EQ(e.compile_time_limit, std::chrono::milliseconds(2500));
  EXPECT_EQ(e.cpu_level, (Target{TargetKind::kCpu, "x86-64-v3"}));
  EXPECT_EQ(e.nvrtc, "libnvrtc.so.13");
  EXPECT_EQ(e.clang_plugin, "/opt/p.so");
  EXPECT_EQ(e.family, "sdpa");
  EXPECT_FALSE(e.allow_small_d || e.cuda_allow_small_d || e.triton_allow_small_d ||
               e.cute_allow_small_d);
  EXPECT_TRUE(e.force_no_fallback);
  EXPECT_EQ(e.emulator_schedule, (emulator::Schedule{emulator::Order::kShuffle, 7}));
  EXPECT_FALSE(e.emulator_races);
  EXPECT_TRUE(e.skip_tuned);
  EXPECT_EQ(e.tuned_config_dir, "/opt/tuned");
  EXPECT_EQ(e.autotune, TuneMode::kMax);
  EXPECT_EQ(e.record, "problems.jsonl");
  for (const EnvironmentEntry& one : e.entries()) EXPECT_EQ(one.source, one.variable->name);
}

TEST(Environment, TuningVariablesHaveTheReferencesNames) {
  EXPECT_TRUE(from({{"FFPA_SKIP_PERSISIT_TUNED_CONFIG", "1"}}).skip_tuned);
  EXPECT_EQ(from({{"FFPA_TUNED_CONFIG_DIR", "/t"}}).tuned_config_dir, "/t");
  EXPECT_EQ(from({{"FFPA_JIT_AUTOTUNE", "off"}}).autotune, std::nullopt);
  EXPECT_EQ(from({{"FFPA_JIT_AUTOTUNE", "fast"}}).autotune, TuneMode::kFast);
  EXPECT_THAT(message_of({{"FFPA_JIT_AUTOTUNE", "slow"}}), HasSubstr("off, fast, max"));
}

TEST(Environment, EntriesSayValueAndSourceInTheTablesOrder) {
  const Environment e = from({{"FFPA_LOGGER_LEVEL", "info"}, {"FFPA_JIT_NUM_THREADS", "2"}});
  const auto table = environment_variables();
  ASSERT_EQ(e.entries().size(), table.size());
  for (size_t i = 0; i < table.size(); ++i) EXPECT_EQ(e.entries()[i].variable, &table[i]);
  EXPECT_EQ(entry(e, "FFPA_JIT_NUM_THREADS").value, "2");
  EXPECT_EQ(entry(e, "FFPA_JIT_NUM_THREADS").source, "FFPA_JIT_NUM_THREADS");
  EXPECT_EQ(entry(e, "FFPA_JIT_LOG_LEVEL").value, "info");
  EXPECT_EQ(entry(e, "FFPA_JIT_LOG_LEVEL").source, "FFPA_LOGGER_LEVEL");
  EXPECT_EQ(entry(e, "FFPA_JIT_CACHE_LIMIT").value, "4G");
  EXPECT_EQ(entry(e, "FFPA_JIT_CACHE_LIMIT").source, "default");
  EXPECT_EQ(entry(e, "FFPA_JIT_CACHE_DIR").value, "");
  EXPECT_EQ(e.log_level, spdlog::level::info);
}

TEST(Environment, TheVariableGoesBeforeItsAlias) {
  const Environment e = from({{"FFPA_LOGGER_LEVEL", "info"}, {"FFPA_JIT_LOG_LEVEL", "off"}});
  EXPECT_EQ(e.log_level, spdlog::level::off);
  EXPECT_EQ(entry(e, "FFPA_JIT_LOG_LEVEL").source, "FFPA_JIT_LOG_LEVEL");
  EXPECT_TRUE(from({{"FFPA_JIT_FORCE_NO_FALLBACK", "1"}}).force_no_fallback);
  EXPECT_FALSE(from({{"FFPA_JIT_FORCE_NO_FALLBACK", "1"}, {"FFPA_FORCE_NO_SDPA_FALLBACK", "0"}})
                   .force_no_fallback);
}

TEST(Environment, EmptyMeansUnset) {
  Settings empty;
  for (const EnvironmentVariable& v : environment_variables()) empty.emplace_back(v.name, "");
  const Environment e = from(empty);
  for (const EnvironmentEntry& one : e.entries())
    EXPECT_EQ(one.source, "default") << one.variable->name;
  EXPECT_EQ(e.cache_limit_bytes, int64_t{4} << 30);
  EXPECT_EQ(from({{"FFPA_JIT_LOG_LEVEL", ""}, {"FFPA_LOGGER_LEVEL", "error"}}).log_level,
            spdlog::level::err);
}

TEST(Environment, MalformedValuesNameVariableValueAndAllowed) {
  EXPECT_EQ(message_of({{"FFPA_JIT_NUM_THREADS", "many"}}),
            "environment variable FFPA_JIT_NUM_THREADS is \"many\"; allowed: 0 to 4096");
  EXPECT_EQ(message_of({{"FFPA_LOGGER_LEVEL", "loud"}}),
            "environment variable FFPA_LOGGER_LEVEL is \"loud\"; allowed: debug, info, warning, "
            "error, off");
  EXPECT_EQ(
      message_of({{"FFPA_JIT_POLICY", "fast"}, {"FFPA_JIT_CPU_LEVEL", "avx"}}),
      "environment variable FFPA_JIT_POLICY is \"fast\"; allowed: native, reference\n"
      "environment variable FFPA_JIT_CPU_LEVEL is \"avx\"; allowed: x86-64, x86-64-v3, x86-64-v4, "
      "x86-64-v4-bf16, x86-64-v4-amx");
  const Settings wrong = {
      {"FFPA_JIT_CACHE_LIMIT", "4GB"},
      {"FFPA_JIT_CACHE_LIMIT", "-1"},
      {"FFPA_JIT_CACHE_LIMIT", "G"},
      {"FFPA_JIT_CACHE_LIMIT", "1.5G"},
      {"FFPA_JIT_CACHE_LIMIT", " 4G"},
      {"FFPA_JIT_CACHE_LIMIT", "9999999999T"},
      {"FFPA_JIT_CACHE_LIMIT", "9223372036854775808"},
      {"FFPA_JIT_COMPILER_MATCH", "any"},
      {"FFPA_JIT_NUM_THREADS", "-1"},
      {"FFPA_JIT_NUM_THREADS", "4097"},
      {"FFPA_JIT_NUM_THREADS", "2 "},
      {"FFPA_JIT_COMPILE_TIME_LIMIT", "0"},
      {"FFPA_JIT_COMPILE_TIME_LIMIT", "1s"},
      {"FFPA_JIT_ALLOW_SMALL_D", "2"},
      {"FFPA_CUDA_ALLOW_SMALL_D", "y"},
      {"FFPA_TRITON_ALLOW_SMALL_D", "-"},
      {"FFPA_CUTE_ALLOW_SMALL_D", "enabled"},
      {"FFPA_FORCE_NO_SDPA_FALLBACK", "maybe"},
  };
  for (const auto& [name, value] : wrong) {
    EXPECT_THAT(message_of({{name, value}}), HasSubstr(name + " is \"" + value + "\"; allowed: "));
  }
}

TEST(Environment, ByteCounts) {
  const std::pair<const char*, int64_t> cases[] = {{"0", 0},
                                                   {"1048576", 1 << 20},
                                                   {"3k", 3 << 10},
                                                   {"3K", 3 << 10},
                                                   {"2G", int64_t{2} << 30},
                                                   {"1T", int64_t{1} << 40},
                                                   {"9223372036854775807", INT64_MAX}};
  for (const auto& [text, bytes] : cases) {
    EXPECT_EQ(from({{"FFPA_JIT_CACHE_LIMIT", text}}).cache_limit_bytes, bytes) << text;
  }
}

TEST(Environment, UnknownVariablesOfOursAreReportedWithTheClosestName) {
  const Environment e = from({{"FFPA_JIT_CACHE_DIRECTORY", "/x"},
                              {"FFPA_JIT_LOGLEVEL", "info"},
                              {"FFPA_SOMETHING", "1"},
                              {"FFPA_JIT_FORCE_NO_FALLBACK", "0"},
                              {"PATH", "/bin"}});
  EXPECT_THAT(e.warnings(), ElementsAre("environment variable FFPA_JIT_CACHE_DIRECTORY is not "
                                        "known and has no effect; the closest "
                                        "known name is FFPA_JIT_CACHE_DIR",
                                        "environment variable FFPA_JIT_LOGLEVEL is not known and "
                                        "has no effect; the closest known "
                                        "name is FFPA_JIT_LOG_LEVEL"));
}

TEST(Environment, CacheDirectoryFollowsTheXdgRule) {
  EXPECT_EQ(from({{"FFPA_JIT_CACHE_DIR", "/c"}, {"XDG_CACHE_HOME", "/x"}, {"HOME", "/h"}})
                .cache_directory(),
            "/c");
  EXPECT_EQ(from({{"XDG_CACHE_HOME", "/x"}, {"HOME", "/h"}}).cache_directory(), "/x/ffpa_jit");
  EXPECT_EQ(from({{"XDG_CACHE_HOME", "relative"}, {"HOME", "/h"}}).cache_directory(),
            "/h/.cache/ffpa_jit");
  EXPECT_EQ(from({{"HOME", "/h"}}).cache_directory(), "/h/.cache/ffpa_jit");
  EXPECT_EQ(from({}).cache_directory(), "");
}

TEST(Environment, ReadTakesTheProcessEnvironment) {
  ASSERT_EQ(setenv("FFPA_JIT_NUM_THREADS", "7", 1), 0);
  EXPECT_EQ(Environment::read().num_threads, 7);
  ASSERT_EQ(setenv("FFPA_JIT_NUM_THREADS", "seven", 1), 0);
  EXPECT_THROW(Environment::read(), Error);
  ASSERT_EQ(unsetenv("FFPA_JIT_NUM_THREADS"), 0);
  EXPECT_EQ(Environment::read().num_threads, 0);
}

TEST(EnvironmentTable, RowsAreCompleteAndNamesUnique) {
  std::set<std::string_view> names;
  for (const EnvironmentVariable& v : environment_variables()) {
    EXPECT_TRUE(v.name.starts_with("FFPA_")) << v.name;
    EXPECT_TRUE(names.insert(v.name).second) << v.name;
    if (!v.alias.empty()) {
      EXPECT_TRUE(names.insert(v.alias).second) << v.alias;
    }
    for (std::string_view text : {v.type, v.allowed, v.meaning, v.since})
      EXPECT_FALSE(text.empty()) << v.name;
    Environment e;
    if (!v.default_value.empty()) {
      EXPECT_TRUE(v.store(e, v.default_value)) << v.name;
    }
  }
}

TEST(EnvironmentTable, CpuLevelsAreTheTargetsOnes) {
  std::string levels;
  for (std::string_view level : architectures(TargetKind::kCpu)) {
    levels += (levels.empty() ? "" : ", ") + std::string(level);
  }
  EXPECT_EQ(entry(Environment(), "FFPA_JIT_CPU_LEVEL").variable->allowed, levels);
}

std::string contents_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(EnvironmentTable, DocumentIsUpToDate) {
  EXPECT_EQ(contents_of(std::filesystem::path(FFPA_JIT_SOURCE_DIR) / "docs/environment.md"),
            environment_document())
      << "docs/environment.md differs from the table; build the target environment_document to "
         "write it anew";
}

// One reader of the environment.
TEST(EnvironmentTable, NobodyElseReadsTheEnvironment) {
  const std::filesystem::path source = std::filesystem::path(FFPA_JIT_SOURCE_DIR) / "src";
  int files = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(source)) {
    if (!file.is_regular_file()) continue;
    const std::string path = std::filesystem::relative(file.path(), source).string();
    ++files;
    if (path.starts_with("policy/")) continue;
    EXPECT_EQ(contents_of(file.path()).find("getenv(\"FFPA"), std::string::npos) << path;
  }
  EXPECT_GT(files, 20);
}

}  // namespace
}  // namespace ffpa_jit
