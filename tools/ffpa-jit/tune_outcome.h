// TuneOutcome: what `ffpa-jit tune` found out about one problem: as a line for people, as JSON, and
// in the report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ffpa-jit/output.h"
#include "tune/tuner.h"

namespace ffpa_jit::cli {

struct TuneOutcome {
  enum class State : uint8_t { kTuned, kDefault, kPresent, kRefused, kFailed, kPlanned };

  State state = State::kFailed;
  std::string device, device_name;  // "cuda:0", "NVIDIA H200"
  std::string problem, shape, bucket;
  std::string family, config, default_config;
  std::string reason;  // of the choice, the refusal or the failure
  size_t candidates = 0;
  std::optional<TuneResult> result;  // kTuned, kDefault
  double tflops = 0, default_tflops = 0;
  double seconds = 0;
  int restarts = 0;  // of the worker process

  Json json() const;
  std::string line() const;
};
std::string_view name_of(
    TuneOutcome::State state);  // "tuned", "default", "present", "refused", "failed", "planned"

// One HTML file without references to others: a table of all problems, then for each a chart of
// what was measured and a list of what was not, with reasons.
std::string tune_report(const std::vector<TuneOutcome>& outcomes);

}  // namespace ffpa_jit::cli
