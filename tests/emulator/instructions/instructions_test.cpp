// Every emulated instruction: against what PTX ISA's words make of it, and against what a GPU made
// of it, where that has been recorded (fixtures/*.json, written by record_instructions).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
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

class Instruction : public ::testing::TestWithParam<Program> {};

TEST_P(Instruction, DoesWhatTheManualSays) {
  const Program& program = GetParam();
  for (int capability : {75, 80, 89, 90}) {
    if (capability < program.capability) continue;
    try {
      EXPECT_EQ(disagreement(program, run(program, *device_of(capability)), program.expected), "")
          << "sm_" << capability;
    } catch (const Error& error) {
      if (error.code() == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << error.what();
      FAIL() << "sm_" << capability << ": " << error.what();
    }
    break;  // the instruction does not differ from one to the next
  }
}

TEST_P(Instruction, DoesWhatTheGpuDid) {
  const Program& program = GetParam();
  const std::filesystem::path folder =
      std::filesystem::path(FFPA_TEST_SOURCE_DIR) / "emulator/fixtures";
  bool compared = false;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const auto recorded = nlohmann::json::parse(std::ifstream(entry.path()));
    if (!recorded.at("programs").contains(program.name)) continue;
    const auto& record = recorded.at("programs").at(program.name);
    EXPECT_EQ(record.at("input").get<Words>(), program.input)
        << "recorded of another input: record again";
    Words out;
    try {
      out = run(program, *device_of(std::max(program.capability, 75)));
    } catch (const Error& error) {
      if (error.code() == FFPA_JIT_NO_COMPILER) GTEST_SKIP() << error.what();
      FAIL() << error.what();
    }
    EXPECT_EQ(disagreement(program, out, record.at("output").get<Words>()), "")
        << recorded.at("device");
    compared = true;
  }
  if (!compared) GTEST_SKIP() << "no recording has this program; run record_instructions on a GPU";
}

INSTANTIATE_TEST_SUITE_P(All, Instruction, ::testing::ValuesIn(programs()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace ffpa_jit::testing
