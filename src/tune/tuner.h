// Tuner: from candidates to a decision. Builds them, drops what its compiler's report rules out
// before anything is launched, drops what computes something else than the default config, measures
// the rest in interleaved rounds, and lets a config win only when its lead over the default is
// outside the noise.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tune/sampling.h"
#include "tune/workbench.h"

namespace ffpa_jit {

struct TuneLimits {
  double budget_s = 10;      // of measuring, building not counted
  double least_gain = 0.01;  // a lead smaller than this is not worth a config of its own
  int max_rounds = 60;       // per stage
  size_t batch = 64;         // candidates built at a time
};

enum class CandidateState : uint8_t {
  kFailed,     // did not compile, or died
  kPruned,     // its resources rule it out
  kDifferent,  // its output is not the default's
  kSlower,     // measured and left behind
  kTied,       // measured; not told apart from the winner, or from the default
  kWinner,
};
std::string_view name_of(CandidateState state);  // "failed", "pruned", ...

struct CandidateResult {
  Built built;
  CandidateState state = CandidateState::kSlower;
  std::string reason;  // why it failed, was pruned, or differs
  Summary time_us;
};

struct TuneResult {
  std::vector<CandidateResult> candidates;  // in the order given: the default first
  size_t winner = 0;                        // 0: the default stays
  size_t runner_up = 0;  // the next best of the last rounds; the winner itself where there is none
  double gain = 0;       // 0.08: the winner is 8 % faster than the default
  std::string reason;    // in words, why this one

  const CandidateResult& best() const { return candidates[winner]; }
};

// What a progress line shows: "checking", 3 of 12.
using TuneProgress = std::function<void(std::string_view stage, size_t done, size_t total)>;

// `configs`: the default first, nearer ones before farther ones: of configs that cannot be told
// apart the earliest wins. Throws Error when the default itself cannot be built or run.
TuneResult tune(Workbench& bench, std::span<const KernelConfig> configs, const TuneLimits& limits,
                const TuneProgress& progress = {});

}  // namespace ffpa_jit
