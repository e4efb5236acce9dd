#include "ffpa-jit/device_tuner.h"

#include <chrono>
#include <utility>

#include "plan/shape_class.h"
#include "runtime/local_workbench.h"
#include "tune/shape_bucket.h"

namespace ffpa_jit::cli {

using Clock = std::chrono::steady_clock;

DeviceTuner::DeviceTuner(const Session& session, const TuneOptions& options,
                         const ffpa::Runtime& runtime, const DeviceRef& ref, int jobs,
                         std::function<void(const std::string&)> show)
    : session_(session),
      options_(options),
      runtime_(inside(runtime)),
      ref_(ref),
      jobs_(jobs),
      show_(std::move(show)),
      device_(runtime_.devices().open(ref)->info()) {}

TuneOutcome DeviceTuner::tune(const TuneTask& task) {
  const Clock::time_point start = Clock::now();
  TuneOutcome out;
  out.device = text_of(ref_);
  out.device_name = device_.name;
  out.problem = text_of(task.problem.problem);
  out.shape = text_of(task.problem.shape);
  out.bucket = bucket_text(task.problem.problem, task.problem.shape);
  try {
    tune(task, out);
  } catch (const Error& error) {
    out.state = error.code() == FFPA_JIT_UNSUPPORTED ? TuneOutcome::State::kRefused
                                                     : TuneOutcome::State::kFailed;
    out.reason = error.what();
  }
  out.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return out;
}

const KernelFamily& DeviceTuner::family_of(const TuneTask& task, const Shape& shape) const {
  PlanRequest request;
  request.problem = task.problem.problem;
  request.shape = shape;
  request.device = device_;
  request.family = task.family.empty() ? task.problem.family : task.family;
  const Route route = runtime_.planner().route(request);
  // What routing gives to another family is that family's to tune.
  if (!route.family || (!request.family.empty() && route.family->name() != request.family)) {
    throw_error(FFPA_JIT_UNSUPPORTED, "{}", route.reason);
  }
  return *route.family;
}

void DeviceTuner::tune(const TuneTask& task, TuneOutcome& out) {
  const Problem& problem = task.problem.problem;
  const Shape shape = canonical_shape(problem, task.problem.shape);
  const KernelFamily& family = family_of(task, shape);
  out.family = family.name();
  const TuneMode mode = tune_mode_of(options_.mode).value();
  const size_t limit = options_.max_candidates  ? options_.max_candidates
                       : mode == TuneMode::kMax ? 512
                                                : 32;
  const std::vector<KernelConfig> configs =
      candidates(family, problem, shape, device_, mode, limit);
  out.candidates = configs.size();
  out.default_config = out.config = text_of(configs.front());
  if (const auto present =
          runtime_.store().find_tuning(tuning_key(family.name(), problem, shape, device_));
      present && present->library_version == library_version() && !options_.overwrite) {
    out.state = TuneOutcome::State::kPresent;
    out.config = present->config;
    return;
  }
  if (session_.dry_run) {
    out.state = TuneOutcome::State::kPlanned;
    return;
  }
  if (ref_.kind == TargetKind::kEmulator) {
    throw_error(FFPA_JIT_UNSUPPORTED,
                "times of {} say nothing about the device it stands for; tune on the device",
                out.device);
  }
  if (configs.size() < 2) {
    throw_error(FFPA_JIT_UNSUPPORTED,
                "family {} has one config for this problem: there is nothing to choose from",
                out.family);
  }
  measure(task, family, configs, out);
}

void DeviceTuner::measure(const TuneTask& task, const KernelFamily& family,
                          const std::vector<KernelConfig>& configs, TuneOutcome& out) {
  const WorkerJson request{{"record", task.problem.json}, {"family", family.name()}};
  RemoteWorkbench& bench = opened(request);
  TuneLimits limits;
  limits.budget_s = options_.budget_s > 0 ? options_.budget_s : options_.mode == "max" ? 30 : 4;
  const std::string what = fmt::format("{} {} {}", out.device, out.family, out.shape);
  out.result = ffpa_jit::tune(bench, configs, limits,
                              [&](std::string_view stage, size_t done, size_t total) {
                                show_(fmt::format("{} {} {}/{}", what, stage, done, total));
                              });
  out.restarts = bench.restarts();
  out.reason = out.result->reason;
  out.config = text_of(out.result->best().built.config);
  out.state = out.result->winner == 0 ? TuneOutcome::State::kDefault : TuneOutcome::State::kTuned;
  const double flops = flops_of(task.problem);
  out.tflops = flops / out.result->best().time_us.median * 1e-6;
  out.default_tflops = flops / out.result->candidates.front().time_us.median * 1e-6;
  AttentionCall call;
  call.problem = task.problem.problem;
  call.shape = task.problem.shape;
  if (!runtime_.tuned_configs().put(tuning_row(family.name(), call, device_, *out.result))) {
    out.reason += "; NOT kept: the cache cannot be written";
  }
}

RemoteWorkbench& DeviceTuner::opened(const WorkerJson& request) {
  if (bench_) {
    bench_->reopen(request);
    return *bench_;
  }
  std::vector<std::string> argv{"/proc/self/exe", "tune-worker", "--device",
                                text_of(ref_),    "--jobs",      std::to_string(jobs_)};
  if (options_.threads > 0)
    argv.insert(argv.end(), {"--threads", std::to_string(options_.threads)});
  if (!session_.cache_dir.empty()) argv.insert(argv.end(), {"--cache-dir", session_.cache_dir});
  if (session_.verbose) argv.push_back("--verbose");
  WorkerLimits limits;
  limits.run = std::chrono::milliseconds(static_cast<int64_t>(1000 * options_.run_limit_s));
  bench_ = std::make_unique<RemoteWorkbench>(argv, request, limits);
  return *bench_;
}

}  // namespace ffpa_jit::cli
