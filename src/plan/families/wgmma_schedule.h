// WgmmaSchedule: how the `wgmma` family lays a head dim out over a block's warpgroups. The family
// asks its schedules in order; the first that covers a problem's head dims plans it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plan/plan.h"
#include "plan/search_space.h"

namespace ffpa_jit {

class WgmmaSchedule {
 public:
  virtual ~WgmmaSchedule() = default;

  // By head dims, multiples of 8 from 8 to 1024, and by what else needs registers.
  virtual bool covers(const Problem&) const = 0;
  // Whether masks and biases are loaded by TMA.
  virtual bool loads_marks() const { return false; }
  // nullopt: can serve. Otherwise the reason, as the family's refuses() gives it. The family has
  // checked target and types.
  virtual std::optional<std::string> refuses(const Problem&) const = 0;
  virtual KernelConfig default_config(const Problem&, const Shape&, const DeviceInfo&) const = 0;
  virtual SearchSpace search_space(const Problem&, const Shape&, const DeviceInfo&,
                                   TuneMode) const = 0;
  // Fills in everything but the family's name and the config. Throws Error INVALID_ARGUMENT when
  // `config` is not one it can build.
  virtual void plan(const Problem&, const KernelConfig&, const DeviceInfo&, Plan&) const = 0;
};

// Head dims up to 352: each consumer warpgroup owns 64 query rows (cuda/wgmma_rows.cu.j2).
const WgmmaSchedule& wgmma_rows();
// Past 256, where the registers of the other do not suffice: two warpgroups share 64 query rows,
// each with some columns of O (cuda/wgmma_columns.cu.j2).
const WgmmaSchedule& wgmma_columns();
// Past 512: two blocks of a cluster share the head dims out (cuda/wgmma_halves.cu.j2).
const WgmmaSchedule& wgmma_halves();

}  // namespace ffpa_jit
