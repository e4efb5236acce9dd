// SearchSpace: which configs of a family are worth measuring for one problem. A family states axes,
// as a table; the candidates are made from them here, the same way for every family. Called by the
// tuner, and by whoever reads a tuned config and asks whether today's build still has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "kernel/kernel_config.h"
#include "problem/problem.h"

namespace ffpa_jit {

class KernelFamily;

// fast: configs near the default one, seconds a problem. max: the whole space, minutes.
enum class TuneMode : uint8_t { kFast, kMax };
std::string_view name_of(TuneMode mode);  // "fast", "max"
std::optional<TuneMode> tune_mode_of(std::string_view name);

// The values that one number of a config may take, in ascending order.
struct SearchAxis {
  int KernelConfig::*field;
  std::vector<int> values;
};

// Fields without an axis keep the default config's value. No axes: there is nothing to tune.
struct SearchSpace {
  std::vector<SearchAxis> axes;
};

// Whether `config` is in the family's space for the problem (the default always is) and can be
// built there. `shape` is any of its class.
bool is_candidate(const KernelFamily& family, const Problem& problem, const Shape& shape,
                  const DeviceInfo& device, const KernelConfig& config);

// The configs to measure: the default first, then the others by their distance from it, at most
// `limit` of them. Every one is accepted by the family's plan(). fast: one number changed to the
// next value up or down. max: the product of the axes.
std::vector<KernelConfig> candidates(const KernelFamily& family, const Problem& problem,
                                     const Shape& shape, const DeviceInfo& device, TuneMode mode,
                                     size_t limit);

}  // namespace ffpa_jit
