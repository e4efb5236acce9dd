// The extension point: one KernelFamily per file in families/, listed once in registry.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plan/plan.h"
#include "plan/search_space.h"
#include "problem/tensor_facts.h"

namespace ffpa_jit {

class KernelFamily {
 public:
  virtual ~KernelFamily() = default;

  virtual std::string_view name() const = 0;
  // nullopt: can serve. Otherwise the reason, as `ffpa-jit explain` prints it.
  virtual std::optional<std::string> refuses(const Problem&, const Target&) const = 0;
  // The same of one call's tensors, asked after refuses().
  virtual std::optional<std::string> refuses_tensors(const Problem&, const TensorFacts&) const {
    return std::nullopt;
  }
  // Why a family further down is faster for such a shape, though this one can serve. Not asked of a
  // family that was asked for by name.
  virtual std::optional<std::string> defers(const Problem&, const Shape&) const {
    return std::nullopt;
  }
  // The heuristic config. Depends on the shape only through shape_class (see plan/shape_class.h).
  virtual KernelConfig default_config(const Problem&, const Shape&, const DeviceInfo&) const = 0;
  // Throws Error INVALID_ARGUMENT when `config` is not one this family can build.
  virtual Plan plan(const Problem&, const KernelConfig&, const DeviceInfo&) const = 0;
  // What the tuner may try besides the default config. Depends on the shape as default_config does.
  virtual SearchSpace search_space(const Problem&, const Shape&, const DeviceInfo&,
                                   TuneMode) const {
    return {};
  }
};

// In order of preference: the first that does not refuse serves, `sdpa` last.
std::span<const KernelFamily* const> kernel_families();

}  // namespace ffpa_jit
