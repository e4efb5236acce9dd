// The tuner's decisions, on candidates whose true times are known.
#include "tune/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tune/scripted_workbench.h"

namespace ffpa_jit {
namespace {

using ::testing::HasSubstr;

TuneResult tuned(ScriptedWorkbench& bench, std::vector<int> order, TuneLimits limits = {}) {
  std::vector<KernelConfig> configs;
  for (const int block_m : order) configs.push_back(config_of(block_m));
  return tune(bench, configs, limits);
}

TEST(Tuner, TakesAClearWinner) {
  ScriptedWorkbench bench;
  bench.scripts = {{16, {.us = 100}}, {32, {.us = 90}}, {64, {.us = 120}}};
  const TuneResult result = tuned(bench, {16, 32, 64});
  EXPECT_EQ(result.winner, 1u);
  EXPECT_EQ(result.runner_up, 0u);
  EXPECT_NEAR(result.gain, 100.0 / 90 - 1, 0.02);
  EXPECT_EQ(result.best().state, CandidateState::kWinner);
  EXPECT_EQ(result.candidates[2].state, CandidateState::kSlower);
  EXPECT_GE(result.best().time_us.samples, Comparison::kLeastRounds);
  EXPECT_NEAR(result.best().time_us.median, 90, 1);
}

TEST(Tuner, KeepsTheDefaultWhenItIsTheFastest) {
  ScriptedWorkbench bench;
  bench.scripts = {{16, {.us = 100}}, {32, {.us = 103}}, {64, {.us = 150}}};
  const TuneResult result = tuned(bench, {16, 32, 64});
  EXPECT_EQ(result.winner, 0u);
  EXPECT_EQ(result.gain, 0);
  EXPECT_EQ(result.runner_up, 1u);
}

// Twenty candidates of the default's own speed: the luckiest of them looks faster. It must not win,
// whatever the seed.
TEST(Tuner, NoiseIsNoWinner) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    ScriptedWorkbench bench;
    bench.random.seed(seed);
    std::vector<int> order;
    for (int i = 1; i <= 20; ++i) {
      bench.scripts[16 * i] = {.us = 100, .noise = 0.02};
      order.push_back(16 * i);
    }
    const TuneResult result = tuned(bench, order);
    EXPECT_EQ(result.winner, 0u) << "seed " << seed << ": " << result.reason;
  }
}

TEST(Tuner, ALeadBelowTheLeastGainIsNone) {
  ScriptedWorkbench bench;
  bench.scripts = {{16, {.us = 100, .noise = 0.0001}}, {32, {.us = 99.5, .noise = 0.0001}}};
  const TuneResult result = tuned(bench, {16, 32});
  EXPECT_EQ(result.winner, 0u);
  EXPECT_THAT(result.reason, HasSubstr("block_m=32"));
}

// The device slows down by half while it is measured, and jumps back and forth: what is compared
// ran side by side.
TEST(Tuner, DriftOfTheClockDecidesNothing) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    ScriptedWorkbench bench;
    bench.random.seed(seed);
    bench.scripts = {{16, {.us = 100}}, {32, {.us = 95}}, {64, {.us = 100}}};
    bench.drift = [](int samples) { return 1 + 0.5 * samples / 100.0; };
    EXPECT_EQ(tuned(bench, {16, 32, 64}).winner, 1u) << seed;
    ScriptedWorkbench level;
    level.random.seed(seed);
    level.scripts = {{16, {.us = 100}}, {32, {.us = 100}}, {64, {.us = 101}}};
    level.drift = bench.drift;
    EXPECT_EQ(tuned(level, {16, 32, 64}).winner, 0u) << seed;
  }
}

// Of configs that cannot be told apart the one nearest to the default wins, so that two runs agree.
TEST(Tuner, TiesGoToTheNearest) {
  std::map<size_t, int> winners;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    ScriptedWorkbench bench;
    bench.random.seed(seed);
    bench.scripts = {{16, {.us = 100}}, {32, {.us = 80}}, {48, {.us = 80}}, {64, {.us = 80}}};
    ++winners[tuned(bench, {16, 32, 48, 64}).winner];
  }
  EXPECT_GE(winners[1], 18);
  EXPECT_EQ(winners[0], 0);
}

// What is reported of the others is what they would take beside the winner, though the device
// slowed down meanwhile.
TEST(Tuner, TimesAreOfOneMoment) {
  ScriptedWorkbench bench;
  bench.scripts = {{16, {.us = 100}}, {32, {.us = 80}}, {48, {.us = 88}}, {64, {.us = 200}}};
  bench.drift = [](int samples) { return 1 + 0.5 * samples / 100.0; };
  const TuneResult result = tuned(bench, {16, 32, 48, 64});
  ASSERT_EQ(result.winner, 1u);
  const double winner = result.best().time_us.median;
  EXPECT_NEAR(result.candidates[0].time_us.median / winner, 100.0 / 80, 0.05);
  EXPECT_NEAR(result.candidates[2].time_us.median / winner, 88.0 / 80, 0.05);
  EXPECT_NEAR(result.candidates[3].time_us.median / winner, 200.0 / 80, 0.1);
}

TEST(Tuner, SpillsAreNeverLaunched) {
  ScriptedWorkbench bench;
  bench.scripts = {{16, {.us = 100}}, {32, {.us = 10, .spill_bytes = 64}}};
  const TuneResult result = tuned(bench, {16, 32});
  EXPECT_EQ(result.winner, 0u);
  EXPECT_EQ(result.candidates[1].state, CandidateState::kPruned);
  EXPECT_THAT(result.candidates[1].reason, HasSubstr("64 bytes"));
  EXPECT_EQ(bench.checked[32] + bench.timed[32], 0);
  EXPECT_NEAR(result.candidates[0].time_us.median, 100, 5)
      << "the default's time is known all the same";
}

TEST(Tuner, WhatDoesNotFitIsNeverLaunched) {
  ScriptedWorkbench bench;
  bench.scripts = {{16, {.us = 100}}, {32, {.us = 10, .registers = 600}}};
  const TuneResult result = tuned(bench, {16, 32});
  EXPECT_EQ(result.candidates[1].state, CandidateState::kPruned);
  EXPECT_EQ(bench.checked[32] + bench.timed[32], 0);
}

TEST(Tuner, AWrongResultNeverWins) {
  ScriptedWorkbench bench;
  bench.scripts = {
      {16, {.us = 100}}, {32, {.us = 10, .difference = "O: element 7 is nan"}}, {64, {.us = 90}}};
  const TuneResult result = tuned(bench, {16, 32, 64});
  EXPECT_EQ(result.winner, 2u);
  EXPECT_EQ(result.candidates[1].state, CandidateState::kDifferent);
  EXPECT_EQ(bench.timed[32], 0);
}

TEST(Tuner, FailedAndDyingCandidatesCostOnlyThemselves) {
  ScriptedWorkbench bench;
  bench.scripts = {{16, {.us = 100}},
                   {32, {.us = 10, .failure = "ptxas: too many registers"}},
                   {48, {.us = 10, .dies_in_check = true}},
                   {64, {.us = 10, .dies_in_time = true}},
                   {80, {.us = 90}}};
  const TuneResult result = tuned(bench, {16, 32, 48, 64, 80});
  EXPECT_EQ(result.winner, 4u);
  for (const size_t i : {1, 2, 3}) {
    EXPECT_EQ(result.candidates[i].state, CandidateState::kFailed) << i;
    EXPECT_FALSE(result.candidates[i].reason.empty()) << i;
  }
}

TEST(Tuner, AFailingDefaultIsAnError) {
  ScriptedWorkbench bench;
  bench.scripts = {{16, {.failure = "no"}}, {32, {}}};
  EXPECT_THROW(tuned(bench, {16, 32}), Error);
  bench.scripts = {{16, {.dies_in_check = true}}, {32, {}}};
  EXPECT_THROW(tuned(bench, {16, 32}), Error);
}

TEST(Tuner, EndsWhenTheBudgetIsOver) {
  ScriptedWorkbench bench;
  bench.scripts = {{16, {.us = 100, .noise = 0.05}}, {32, {.us = 99, .noise = 0.05}}};
  TuneLimits limits;
  limits.budget_s = 0;
  const TuneResult result = tuned(bench, {16, 32}, limits);
  EXPECT_EQ(result.winner, 0u);
  EXPECT_LE(bench.samples, 40);
}

TEST(Tuner, OneConfigIsNoChoice) {
  ScriptedWorkbench bench;
  bench.scripts = {{16, {}}};
  const TuneResult result = tuned(bench, {16});
  EXPECT_EQ(result.winner, 0u);
  EXPECT_EQ(result.runner_up, 0u);
}

TEST(Tuner, FewSamplesWhereTheLeadIsClear) {
  ScriptedWorkbench bench;
  std::vector<int> order;
  for (int i = 1; i <= 30; ++i) {
    bench.scripts[16 * i] = {.us = i == 20 ? 60.0 : 100.0 + 10 * i};
    order.push_back(16 * i);
  }
  EXPECT_EQ(tuned(bench, order).winner, 19u);
  EXPECT_LE(bench.samples, 30 * 3 + 2 * 10 + 2 * 10) << "screened, raced, confirmed";
}

}  // namespace
}  // namespace ffpa_jit
