// AttentionCall: one checked call, as the API layer hands it to the Runtime.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"
#include "kernel/params.h"
#include "problem/problem.h"

namespace ffpa_jit {

struct DeviceRef {
  TargetKind kind = TargetKind::kCpu;
  int index = 0;  // emulated CUDA: the compute capability, 80 for sm_80

  bool operator==(const DeviceRef&) const = default;
};

std::string text_of(const DeviceRef& device);  // "cpu", "cuda:0", "emu:sm_80": what --device takes

struct AttentionCall {
  DeviceRef device;
  Stream stream = nullptr;
  Problem problem;
  Shape shape;
  ForwardParams params{};  // workspace is filled in by the Runtime
  std::string family;      // empty: routed
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  const void* host_args = nullptr;  // the caller's struct, for its own fallback callback
  // Emulated devices: what the kernels may touch, but for the workspace. Otherwise empty.
  std::vector<MemoryRange> ranges;
};

}  // namespace ffpa_jit
