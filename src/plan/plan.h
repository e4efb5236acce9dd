// Plan: how one problem is served: which kernels, in which order, with which geometry.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/device.h"
#include "kernel/kernel_config.h"
#include "kernel/params.h"
#include "problem/problem.h"

namespace ffpa_jit {

struct PlanStep {
  std::string template_name;       // "cpu/attention_forward.cpp.j2"; empty for a built-in kernel
  std::string entry;               // extern "C" symbol of the kernel
  nlohmann::ordered_json context;  // what the template reads
  std::function<LaunchGeometry(const Shape&)> geometry;
  // The tensors that the kernel loads by TMA; empty: none. The kernel's parameter is then
  // {ForwardParams, TensorMap...}.
  std::function<TensorMapSpecs(const ForwardParams&, const Shape&)> tensor_maps;
  HostKernel builtin;  // compiled into the library (the CPU's portable kernel); else empty
};

struct Plan {
  std::string family;
  KernelConfig config;
  std::vector<PlanStep> steps;  // launched in order with the same ForwardParams
  std::function<size_t(const Shape&)> workspace_bytes;  // empty: none
  // The first so many bytes of the workspace are 0 when the first step begins; empty: none.
  std::function<size_t(const Shape&)> zeroed_bytes;
};

}  // namespace ffpa_jit
