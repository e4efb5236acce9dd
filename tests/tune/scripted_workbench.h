// A Workbench whose candidates do what a test wrote down: take so long, with so much noise, fail,
// spill, differ, die.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "tune/workbench.h"

namespace ffpa_jit {

struct Script {
  double us = 100;
  double noise = 0.005;      // standard deviation over us
  std::string failure = {};  // of the build
  int spill_bytes = 0;
  int registers = 64;
  std::string difference = {};
  bool dies_in_check = false, dies_in_time = false;
};

class ScriptedWorkbench final : public Workbench {
 public:
  ScriptedWorkbench() {
    device_.target = parse_target("sm_90a");
    device_.identity = device_.name = "scripted";
    device_.multiprocessors = 132;
    device_.shared_bytes_per_block = 227 << 10;
  }

  const DeviceInfo& device() const override { return device_; }

  std::vector<Built> build(std::span<const KernelConfig> configs) override {
    std::vector<Built> out;
    for (const KernelConfig& config : configs) {
      const Script& script = scripts.at(config.block_m);
      Built built;
      built.config = config;
      built.failure = script.failure;
      BuiltStep step;
      step.threads = 128;
      step.resources.registers = script.registers;
      step.resources.spill_bytes = script.spill_bytes;
      step.resources.local_bytes = 0;
      step.resources.static_shared_bytes = 0;
      built.steps.push_back(step);
      out.push_back(built);
    }
    return out;
  }

  std::string check(const KernelConfig& config) override {
    const Script& script = scripts.at(config.block_m);
    ++checked[config.block_m];
    if (script.dies_in_check)
      throw Error(FFPA_JIT_DEVICE_ERROR, "the worker process was killed by signal 11");
    return script.difference;
  }

  double time_us(const KernelConfig& config) override {
    const Script& script = scripts.at(config.block_m);
    ++timed[config.block_m];
    ++samples;
    if (script.dies_in_time && timed[config.block_m] > 2)
      throw Error(FFPA_JIT_DEVICE_ERROR, "did not answer");
    std::normal_distribution<double> noise(1, script.noise);
    return script.us * noise(random) * (drift ? drift(samples) : 1);
  }

  std::map<int, Script> scripts;     // by block_m
  std::function<double(int)> drift;  // of the device's clock, by the number of samples taken
  std::map<int, int> checked, timed;
  int samples = 0;
  std::mt19937_64 random{7};

 private:
  DeviceInfo device_;
};

inline KernelConfig config_of(int block_m) {
  KernelConfig config;
  config.block_m = block_m;
  config.block_n = 64;
  return config;
}

}  // namespace ffpa_jit
