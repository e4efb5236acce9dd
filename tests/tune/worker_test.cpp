// Candidates in a real child process that is really killed: each costs itself and nothing else.
#include "tune/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "base/error.h"
#include "tune/ranks.h"
#include "tune/scripted_workbench.h"
#include "tune/tuner.h"

namespace ffpa_jit {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string lost(const std::function<void()>& talk) {
  try {
    talk();
  } catch (const ChildLost& error) {
    return error.what();
  }
  return "";
}

TEST(ChildProcess, TalksInLines) {
  ChildProcess child({"/bin/sh", "-c", "while read line <&3; do echo \"got $line\" >&3; done"});
  for (const char* word : {"one", "two"}) {
    child.send_line(word);
    EXPECT_EQ(child.receive_line(5s), std::string("got ") + word);
  }
}

TEST(ChildProcess, WhatItPrintsIsNoAnswer) {
  ChildProcess child({"/bin/sh", "-c", "echo printed; echo answer >&3; sleep 60"});
  EXPECT_EQ(child.receive_line(5s), "answer");
}

TEST(ChildProcess, SaysHowItEnded) {
  ChildProcess killed({"/bin/sh", "-c", "kill -SEGV $$"});
  EXPECT_THAT(lost([&] { killed.receive_line(5s); }), HasSubstr("signal 11"));
  ChildProcess ended({"/bin/sh", "-c", "exit 9"});
  EXPECT_THAT(lost([&] { ended.receive_line(5s); }), HasSubstr("status 9"));
  EXPECT_THAT(lost([&] { ended.send_line("more"); }), HasSubstr("not running"));
}

TEST(ChildProcess, OneThatHangsIsKilled) {
  ChildProcess child({"/bin/sh", "-c", "exec sleep 1000"});
  const pid_t pid = child.pid();
  EXPECT_THAT(lost([&] { child.receive_line(50ms); }), HasSubstr("0.1 s"));
  EXPECT_EQ(::kill(pid, 0), -1) << "it still runs";
}

TEST(ChildProcess, EndsWithItsOwner) {
  pid_t pid = 0;
  {
    ChildProcess child({"/bin/sh", "-c", "exec sleep 1000"});
    pid = child.pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(ChildProcess, AProgramThatIsNotThere) {
  try {
    ChildProcess child({"/no/such/program"});
    child.receive_line(5s);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("/no/such/program"));
  } catch (const ChildLost&) {  // where spawning tells no more than an exit status
  }
}

WorkerLimits quick() { return {.open = 10s, .build = 10s, .run = 300ms, .restarts = 32}; }
RemoteWorkbench bad_workbench(WorkerJson task = WorkerJson::object()) {
  return RemoteWorkbench({BAD_WORKER}, std::move(task), quick());
}

TEST(RemoteWorkbench, BuildsChecksAndTimes) {
  RemoteWorkbench bench = bad_workbench();
  EXPECT_EQ(bench.device().name, "scripted");
  EXPECT_EQ(text_of(bench.device().target), "sm_90a");
  const std::vector<KernelConfig> configs{config_of(16), config_of(144)};
  const std::vector<Built> built = bench.build(configs);
  ASSERT_EQ(built.size(), 2u);
  EXPECT_EQ(built[1].config, configs[1]);
  EXPECT_EQ(built[1].steps.at(0).threads, 128u);
  EXPECT_EQ(built[1].steps.at(0).resources.registers, 64);
  EXPECT_EQ(bench.check(configs[1]), "");
  EXPECT_NEAR(bench.time_us(configs[1]), 109, 5);
  EXPECT_EQ(bench.restarts(), 0);
}

TEST(RemoteWorkbench, EveryKindOfDeathCostsOneCandidate) {
  RemoteWorkbench bench = bad_workbench();
  std::vector<KernelConfig> configs;
  for (int i = 1; i <= 16; ++i) configs.push_back(config_of(16 * i));
  const TuneResult result = tune(bench, configs, {.budget_s = 5});
  std::map<int, std::string> failed;
  for (const CandidateResult& each : result.candidates) {
    if (each.state == CandidateState::kFailed) failed[each.built.config.block_m] = each.reason;
  }
  EXPECT_THAT(failed[32], HasSubstr("signal 11"));
  EXPECT_THAT(failed[48], HasSubstr("signal 9"));
  EXPECT_THAT(failed[64], HasSubstr("did not answer within 0.3 s"));
  EXPECT_THAT(failed[80], HasSubstr("status 3"));
  EXPECT_THAT(failed[96], HasSubstr("illegal memory access"));
  EXPECT_THAT(failed[112], HasSubstr("no JSON"));
  EXPECT_THAT(failed[128], HasSubstr("signal 9"));
  EXPECT_EQ(failed.size(), 7u);
  EXPECT_EQ(result.best().built.config.block_m, 240);
  EXPECT_GE(bench.restarts(), 7);
}

TEST(RemoteWorkbench, ATaskThatCannotBeOpenedIsAnErrorOfItsOwn) {
  try {
    bad_workbench({{"refuse", "no such family"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), FFPA_JIT_UNSUPPORTED);
    EXPECT_STREQ(error.what(), "no such family");
  }
  EXPECT_THROW(RemoteWorkbench({BAD_WORKER, "gone"}, WorkerJson::object(), quick()), Error);
}

TEST(RemoteWorkbench, GoesOnWithAnotherTask) {
  RemoteWorkbench bench = bad_workbench();
  const KernelConfig dies = config_of(48), lives = config_of(16);
  EXPECT_THROW(bench.check(dies), Error);
  bench.reopen({{"name", "another"}});
  EXPECT_EQ(bench.restarts(), 0);
  EXPECT_EQ(bench.check(lives), "");
  EXPECT_THROW(bench.reopen({{"refuse", "not this one"}}), Error);
  bench.reopen({{"name", "a third"}});
  EXPECT_EQ(bench.check(lives), "");
}

TEST(RemoteWorkbench, EndlessDyingEnds) {
  RemoteWorkbench bench({BAD_WORKER}, WorkerJson::object(), {.run = 300ms, .restarts = 2});
  for (int i = 0; i < 3; ++i) EXPECT_THROW(bench.check(config_of(48)), Error);
  try {
    bench.check(config_of(16));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("died 3 times"));
  }
}

Ranks ranks(const std::map<std::string, std::string>& variables) {
  return read_ranks([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Ranks, OfEveryLauncher) {
  EXPECT_EQ(ranks({}).size, 1);
  const Ranks open_mpi = ranks({{"OMPI_COMM_WORLD_RANK", "5"},
                                {"OMPI_COMM_WORLD_SIZE", "8"},
                                {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                                {"SLURM_PROCID", "0"},
                                {"SLURM_NTASKS", "1"}});
  EXPECT_EQ(open_mpi.rank, 5);
  EXPECT_EQ(open_mpi.size, 8);
  EXPECT_EQ(open_mpi.local_rank, 1);
  EXPECT_EQ(open_mpi.local_size, 4);
  EXPECT_EQ(ranks({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}}).rank, 2);
  const Ranks slurm = ranks({{"SLURM_PROCID", "3"},
                             {"SLURM_NTASKS", "4"},
                             {"SLURM_LOCALID", "1"},
                             {"SLURM_NTASKS_PER_NODE", "2"}});
  EXPECT_EQ(slurm.rank, 3);
  EXPECT_EQ(slurm.local_size, 2);
  EXPECT_THROW(ranks({{"PMI_RANK", "x"}, {"PMI_SIZE", "3"}}), Error);
  EXPECT_THROW(ranks({{"PMI_RANK", "3"}, {"PMI_SIZE", "3"}}), Error);
}

TEST(Ranks, ShareOutTheDevicesOfAHost) {
  const std::vector<int> all{0, 1, 2, 3};
  EXPECT_THAT(devices_of({}, all), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(devices_of({.rank = 1, .size = 2, .local_rank = 1, .local_size = 2}, all),
              ElementsAre(1, 3));
  EXPECT_THAT(devices_of({.rank = 6, .size = 8, .local_rank = 2, .local_size = 4}, all),
              ElementsAre(2));
  EXPECT_THAT(devices_of({.rank = 5, .size = 8, .local_rank = 5, .local_size = 8}, all),
              ElementsAre(1));
  EXPECT_TRUE(devices_of({}, {}).empty());
}

}  // namespace
}  // namespace ffpa_jit
