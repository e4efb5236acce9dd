#include "plan/search_space.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "plan/kernel_family.h"

namespace ffpa_jit {
namespace {

// Numbers hang together (rows and warps): one step of each of two is the least change that many
// configs have.
constexpr int kFastDistance = 2;

// Steps along an axis between two values of it; a value between two of the axis counts as the lower
// one.
int steps_between(const SearchAxis& axis, int from, int to) {
  const auto position = [&](int value) {
    return std::upper_bound(axis.values.begin(), axis.values.end(), value) - axis.values.begin();
  };
  return static_cast<int>(std::abs(position(from) - position(to)));
}

int distance(const SearchSpace& space, const KernelConfig& from, const KernelConfig& to) {
  int steps = 0;
  for (const SearchAxis& axis : space.axes)
    steps += steps_between(axis, from.*axis.field, to.*axis.field);
  return steps;
}

std::vector<KernelConfig> product(const SearchSpace& space, const KernelConfig& from) {
  std::vector<KernelConfig> out{from};
  for (const SearchAxis& axis : space.axes) {
    std::vector<KernelConfig> wider;
    for (const KernelConfig& config : out) {
      for (const int value : axis.values) wider.emplace_back(config).*axis.field = value;
    }
    out = std::move(wider);
  }
  return out;
}

bool can_plan(const KernelFamily& family, const Problem& problem, const DeviceInfo& device,
              const KernelConfig& config) {
  try {
    family.plan(problem, config, device);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string_view name_of(TuneMode mode) { return mode == TuneMode::kMax ? "max" : "fast"; }

std::optional<TuneMode> tune_mode_of(std::string_view name) {
  if (name == "fast") return TuneMode::kFast;
  if (name == "max") return TuneMode::kMax;
  return std::nullopt;
}

bool is_candidate(const KernelFamily& family, const Problem& problem, const Shape& shape,
                  const DeviceInfo& device, const KernelConfig& config) {
  if (family.refuses(problem, device.target)) return false;
  const KernelConfig usual = family.default_config(problem, shape, device);
  if (config == usual) return true;
  KernelConfig rest = config;  // what no axis may change must be the default's
  const SearchSpace space = family.search_space(problem, shape, device, TuneMode::kMax);
  for (const SearchAxis& axis : space.axes) {
    const int value = config.*axis.field;
    const bool known =
        std::find(axis.values.begin(), axis.values.end(), value) != axis.values.end();
    if (!known && value != usual.*axis.field) return false;
    rest.*axis.field = usual.*axis.field;
  }
  return rest == usual && can_plan(family, problem, device, config);
}

std::vector<KernelConfig> candidates(const KernelFamily& family, const Problem& problem,
                                     const Shape& shape, const DeviceInfo& device, TuneMode mode,
                                     size_t limit) {
  const KernelConfig usual = family.default_config(problem, shape, device);
  const SearchSpace space = family.search_space(problem, shape, device, mode);
  std::vector<KernelConfig> others = product(space, usual);
  if (mode == TuneMode::kFast) {
    std::erase_if(others, [&](const KernelConfig& config) {
      return distance(space, usual, config) > kFastDistance;
    });
  }
  std::stable_sort(others.begin(), others.end(), [&](const KernelConfig& a, const KernelConfig& b) {
    return distance(space, usual, a) < distance(space, usual, b);
  });
  std::vector<KernelConfig> out{usual};
  for (const KernelConfig& config : others) {
    if (out.size() >= limit) break;
    if (std::find(out.begin(), out.end(), config) != out.end()) continue;
    if (can_plan(family, problem, device, config)) out.push_back(config);
  }
  return out;
}

}  // namespace ffpa_jit
