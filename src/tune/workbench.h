// Workbench: where candidates are built and run. The tuner decides, a workbench does: in this
// process (runtime/local_workbench.h), in a child process that a bad kernel may take down
// (worker.h), or scripted, in tests.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/device.h"
#include "kernel/kernel_binary.h"
#include "kernel/kernel_config.h"

namespace ffpa_jit {

// One kernel of a candidate, as its compiler reported it, and how it is launched.
struct BuiltStep {
  KernelResources resources;
  uint32_t threads = 1;  // of a block
  uint32_t dynamic_shared_bytes = 0;
};

struct Built {
  KernelConfig config;
  std::string failure;  // why there is nothing to run; empty: it is ready
  std::vector<BuiltStep> steps;
  double compile_ms = 0;
  bool cache_hit = false;
};

class Workbench {
 public:
  virtual ~Workbench() = default;

  virtual const DeviceInfo& device() const = 0;
  // Compiles what is not cached, several at a time. One answer per config, in order. The first
  // config ever built is the one whose output the others' are compared with.
  virtual std::vector<Built> build(std::span<const KernelConfig> configs) = 0;
  // Runs it once. Empty: its output is that of the first config, but for rounding; else what
  // differs. Throws Error.
  virtual std::string check(const KernelConfig& config) = 0;
  // Device time of one run, in microseconds. Throws Error.
  virtual double time_us(const KernelConfig& config) = 0;
};

}  // namespace ffpa_jit
