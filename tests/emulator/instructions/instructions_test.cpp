// Every emulated instruction: against what PTX ISA's words make of it, and against what a GPU made
// of it, where that has been recorded (fixtures/*.json, written by record_instructions).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "device/emulator/emulated_device.h"
#include "emulator/instructions/program.h"

namespace ffpa_jit::testing {
namespace {

std::shared_ptr<Device> device_of(int capability) {
  emulator::Options options;
  options.num_threads = 1;
  return open_emulated_cuda_device(capability, options);
}

// What the program gives on the oldest device that has the instruction, which does not differ from
// one device to the next: run once for both tests.
Words run_emulated(const Program& program) {
  static std::map<std::string, Words>& done = *new std::map<std::string, Words>();
  const auto found = done.find(program.name);
  if (found != done.end()) return found->second;
  return done[program.name] = run(program, *device_of(program.capability));
}

class Instruction : public ::testing::TestWithParam<Program> {};

TEST_P(Instruction, DoesWhatTheManualSays) {
  const Program& program = GetParam();
  try {
    EXPECT_EQ(disagreement(program, run_emulated(program), program.expected), "");
  } catch (const Error& error) {
    if (error.code() == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << error.what();
    FAIL() << error.what();
  }
}

TEST_P(Instruction, DoesWhatTheGpuDid) {
  const Program& program = GetParam();
  const std::filesystem::path folder =
      std::filesystem::path(FFPA_TEST_SOURCE_DIR) / "emulator/fixtures";
  bool compared = false;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const auto recorded = nlohmann::ordered_json::parse(std::ifstream(entry.path()));
    if (!recorded.at("programs").contains(program.name)) continue;
    const auto& record = recorded.at("programs").at(program.name);
    EXPECT_TRUE(is_recorded(record.at("input"), program.input))
        << "recorded of another input: record again";
    Words out;
    try {
      out = run_emulated(program);
    } catch (const Error& error) {
      if (error.code() == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << error.what();
      FAIL() << error.what();
    }
    if (record.at("output").is_string()) {
      EXPECT_TRUE(is_recorded(record.at("output"), out)) << recorded.at("device");
    } else {
      EXPECT_EQ(disagreement(program, out, record.at("output").get<Words>()), "")
          << recorded.at("device");
    }
    compared = true;
  }
  if (!compared) GTEST_SKIP() << "no recording has this program; run record_instructions on a GPU";
}

INSTANTIATE_TEST_SUITE_P(All, Instruction, ::testing::ValuesIn(programs()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace ffpa_jit::testing
