// ffpa-jit tune: measures the configs of kernel families on this machine's devices and keeps the
// winners.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <set>
#include <thread>

#include "device/cuda/cuda_device.h"
#include "ffpa-jit/attention_tasks.h"
#include "ffpa-jit/recorded_problem.h"
#include "ffpa-jit/session.h"
#include "ffpa-jit/tune_outcome.h"
#include "io/file.h"
#include "plan/shape_class.h"
#include "runtime/local_workbench.h"
#include "tune/ranks.h"
#include "tune/shape_bucket.h"
#include "tune/tuning_file.h"
#include "tune/worker.h"

namespace ffpa_jit::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct TuneOptions {
  std::string device, gpus;
  ProblemFlags problem;
  std::vector<std::filesystem::path> from;
  bool full_tasks = false;
  TaskGrid grid{{},
                {"bf16"},
                {64, 128, 192, 256, 320, 384, 512, 640, 768, 1024},
                {1024, 2048, 4096, 8192, 16384},
                1,
                32,
                ""};
  std::vector<std::string> families;
  std::string mode = "fast";
  bool overwrite = false, list = false;
  double budget_s = 0;
  size_t max_candidates = 0;
  double run_limit_s = 20;
  int jobs = 0, threads = 0;
  std::filesystem::path report, export_file;
};

std::vector<DeviceRef> devices_of(const TuneOptions& options, const Ranks& ranks) {
  std::vector<int> gpus;
  const auto all_gpus = [&] {
    std::string why;
    const size_t count = list_cuda_devices(&why).size();
    if (count == 0 && !options.gpus.empty())
      throw_error(FFPA_JIT_NO_DEVICE, "--gpus {}: {}", options.gpus, why);
    std::vector<int> all;
    for (size_t i = 0; i < count; ++i) all.push_back(static_cast<int>(i));
    return all;
  };
  if (!options.gpus.empty() && options.gpus != "all") {
    for (const std::string& word : CLI::detail::split(options.gpus, ',')) {
      int index = 0;
      if (!CLI::detail::lexical_cast(word, index) || index < 0) {
        throw_error(FFPA_JIT_INVALID_ARGUMENT, "--gpus is '{}'; allowed: all, or numbers: 0,1",
                    options.gpus);
      }
      gpus.push_back(index);
    }
  } else if (options.gpus == "all") {
    gpus = all_gpus();
  } else if (!options.device.empty()) {
    return {parse_device(options.device)};
  } else {
    gpus = all_gpus();
    if (ranks.local_size == 1 && gpus.size() > 1) gpus.resize(1);  // more only when asked for
  }
  if (gpus.empty()) return {{TargetKind::kCpu, 0}};
  std::vector<DeviceRef> out;
  for (const int index : ffpa_jit::devices_of(ranks, gpus))
    out.push_back({TargetKind::kCuda, index});
  return out;
}

std::vector<RecordedProblem> problems_of(const TuneOptions& options, const DeviceRef& device) {
  std::vector<RecordedProblem> out;
  for (const std::filesystem::path& path : options.from) {
    for (RecordedProblem& each : read_record_file(path)) out.push_back(std::move(each));
  }
  if (options.full_tasks) {
    for (const TaskProblem& each : task_problems(options.grid)) {
      out.push_back(record_of(DescribedProblem(each.spec, device).call()));
    }
  }
  if (out.empty() && options.from.empty()) {
    out.push_back(record_of(DescribedProblem(options.problem.spec(), device).call()));
  }
  return out;
}

// One problem for one family.
struct TuneTask {
  RecordedProblem problem;
  std::string family;  // empty: routed
};

// The line of stderr that says where it stands; on a terminal only.
class Standing {
 public:
  explicit Standing(size_t total)
      : total_(total), shown_(total > 0 && ::isatty(STDERR_FILENO) == 1) {}
  ~Standing() { clear(); }

  void show(const std::string& what) {
    if (!shown_) return;
    std::lock_guard lock(mutex_);
    fmt::print(stderr, "\r\x1b[K[{}/{}{}] {}", done_.load(), total_, left(), what.substr(0, 100));
    std::fflush(stderr);
  }
  void clear() {
    if (!shown_) return;
    std::lock_guard lock(mutex_);
    fmt::print(stderr, "\r\x1b[K");
  }
  void finish_one(bool counted) {
    ++done_;
    if (counted) ++counted_;
  }

 private:
  // By the problems that took time: those already tuned take none.
  std::string left() const {
    if (counted_ == 0) return "";
    const double spent = std::chrono::duration<double>(Clock::now() - start_).count();
    const double seconds =
        spent / static_cast<double>(counted_) * static_cast<double>(total_ - done_);
    return seconds < 90 ? fmt::format(", {:.0f} s left", seconds)
                        : fmt::format(", {:.0f} min left", seconds / 60);
  }

  size_t total_;
  bool shown_;
  std::mutex mutex_;
  std::atomic<size_t> done_{0}, counted_{0};
  Clock::time_point start_ = Clock::now();
};

// The work of one device: a worker process, and the decisions about what it measures.
class DeviceTuner {
 public:
  DeviceTuner(const Session& session, const TuneOptions& options, const ffpa::Runtime& runtime,
              const DeviceRef& ref, int jobs, Standing& standing)
      : session_(session),
        options_(options),
        runtime_(inside(runtime)),
        ref_(ref),
        jobs_(jobs),
        standing_(standing),
        device_(runtime_.devices().open(ref)->info()) {}

  TuneOutcome tune(const TuneTask& task) {
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

 private:
  const KernelFamily& family_of(const TuneTask& task, const Shape& shape) const {
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

  void tune(const TuneTask& task, TuneOutcome& out) {
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

  void measure(const TuneTask& task, const KernelFamily& family,
               const std::vector<KernelConfig>& configs, TuneOutcome& out) {
    const WorkerJson request{{"record", task.problem.json}, {"family", family.name()}};
    RemoteWorkbench& bench = opened(request);
    TuneLimits limits;
    limits.budget_s = options_.budget_s > 0 ? options_.budget_s : options_.mode == "max" ? 30 : 4;
    const std::string what = fmt::format("{} {} {}", out.device, out.family, out.shape);
    out.result = ffpa_jit::tune(
        bench, configs, limits, [&](std::string_view stage, size_t done, size_t total) {
          standing_.show(fmt::format("{} {} {}/{}", what, stage, done, total));
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

  RemoteWorkbench& opened(const WorkerJson& request) {
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

  const Session& session_;
  const TuneOptions& options_;
  Runtime& runtime_;
  DeviceRef ref_;
  int jobs_;
  Standing& standing_;
  DeviceInfo device_;
  std::unique_ptr<RemoteWorkbench> bench_;
};

// This rank's tasks: distinct by what a tuning is kept for.
std::vector<TuneTask> tasks_of(const TuneOptions& options, const DeviceRef& device,
                               const Ranks& ranks) {
  std::vector<TuneTask> all;
  std::set<std::string> seen;
  for (RecordedProblem& problem : problems_of(options, device)) {
    const std::vector<std::string> families =
        options.families.empty() ? std::vector<std::string>{""} : options.families;
    for (const std::string& family : families) {
      const std::string key =
          fmt::format("{}|{}|{}", family.empty() ? problem.family : family,
                      text_of(problem.problem), bucket_text(problem.problem, problem.shape));
      if (seen.insert(key).second) all.push_back({problem, family});
    }
  }
  std::vector<TuneTask> mine;
  for (size_t i = static_cast<size_t>(ranks.rank); i < all.size();
       i += static_cast<size_t>(ranks.size)) {
    mine.push_back(std::move(all[i]));
  }
  return mine;
}

// Tunings of these devices that say another config than the default.
void export_tunings(Runtime& runtime, const std::vector<DeviceRef>& devices,
                    const std::filesystem::path& path) {
  const DeviceInfo device = runtime.devices().open(devices.front())->info();
  std::vector<Tuning> rows;
  for (Tuning& row : runtime.store().tunings(device.identity)) {
    const Problem problem = parse_problem(row.key.problem);
    const Shape shape = parse_bucket(problem, parse_tuning_shape(row.key.shape_bucket).second);
    for (const KernelFamily* family : kernel_families()) {
      if (family->name() != row.family || family->refuses(problem, device.target)) continue;
      const KernelConfig config = parse_config(row.config);
      if (config != family->default_config(problem, shape, device) &&
          is_candidate(*family, problem, shape, device, config)) {
        rows.push_back(std::move(row));
      }
      break;
    }
  }
  io::write_text(path, tuning_file_text(device.identity, rows));
  fmt::print(stderr, "{} tunings of {} written to {}\n", rows.size(), device.name, path.string());
}

int list(const Session& session) {
  const ffpa::Runtime runtime = open_runtime(session);
  Table table({{"device"},
               {"family"},
               {"shape"},
               {"problem"},
               {"config"},
               {"us", true},
               {"+-", true},
               {"samples", true},
               {"version"}});
  for (const Tuning& row : inside(runtime).store().tunings("")) {
    const auto [family, bucket] = parse_tuning_shape(row.key.shape_bucket);
    if (session.json) {
      print_json({{"device", row.key.device},
                  {"problem", row.key.problem},
                  {"bucket", bucket},
                  {"family", family},
                  {"config", row.config},
                  {"median_us", row.median_us},
                  {"spread_us", row.spread_us},
                  {"runner_up", row.runner_up},
                  {"runner_up_us", row.runner_up_us},
                  {"samples", row.samples},
                  {"library_version", row.library_version},
                  {"driver_version", row.driver_version}});
    } else {
      table.add({row.key.device, family, bucket, row.key.problem, row.config,
                 fmt::format("{:.1f}", row.median_us), fmt::format("{:.1f}", row.spread_us),
                 std::to_string(row.samples), row.library_version});
    }
  }
  if (!session.json) table.print();
  return kOk;
}

int tune(const Session& session, const TuneOptions& options) {
  if (options.list) return list(session);
  const Ranks ranks = read_ranks([](const char* name) -> const char* { return std::getenv(name); });
  const std::vector<DeviceRef> devices = devices_of(options, ranks);
  const ffpa::Runtime runtime = open_runtime(session, {options.threads, FFPA_JIT_POLICY_DEFAULT});
  const std::vector<TuneTask> tasks = tasks_of(options, devices.front(), ranks);
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int jobs = options.jobs > 0
                       ? options.jobs
                       : std::max(1, cores / std::max<int>(1, static_cast<int>(devices.size()) *
                                                                  ranks.local_size));

  Standing standing(tasks.size());
  std::vector<TuneOutcome> outcomes(tasks.size());
  std::atomic<size_t> next{0};
  std::mutex output;
  const auto work = [&](const DeviceRef& device) {
    DeviceTuner tuner(session, options, runtime, device, jobs, standing);
    for (size_t i = next++; i < tasks.size(); i = next++) {
      outcomes[i] = tuner.tune(tasks[i]);
      standing.finish_one(outcomes[i].result.has_value());
      std::lock_guard lock(output);
      standing.clear();
      if (session.json) {
        print_json(outcomes[i].json());
      } else {
        fmt::print("{}\n", outcomes[i].line());
        std::fflush(stdout);
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < devices.size(); ++i) others.emplace_back(work, devices[i]);
    work(devices.front());
  }

  if (!options.report.empty()) io::write_text(options.report, tune_report(outcomes));
  if (!options.export_file.empty()) export_tunings(inside(runtime), devices, options.export_file);
  const auto count = [&](TuneOutcome::State state) {
    return std::count_if(outcomes.begin(), outcomes.end(),
                         [&](const TuneOutcome& o) { return o.state == state; });
  };
  using State = TuneOutcome::State;
  fmt::print(
      stderr,
      "{} problems{}: {} tuned, {} keep the default, {} tuned before, {} refused, {} failed{}\n",
      tasks.size(), ranks.size > 1 ? fmt::format(" of rank {}/{}", ranks.rank, ranks.size) : "",
      count(State::kTuned), count(State::kDefault), count(State::kPresent), count(State::kRefused),
      count(State::kFailed),
      session.dry_run ? fmt::format(", {} to tune (dry run)", count(State::kPlanned)) : "");
  if (count(State::kFailed) > 0) return kFailed;
  return !tasks.empty() && count(State::kRefused) == static_cast<int64_t>(tasks.size())
             ? kUnavailable
             : kOk;
}

}  // namespace

void add_tune_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* command =
      app.add_subcommand("tune",
                         "Measure the configs of kernel families and keep the fastest.\n"
                         "What is tuned: the problems that a host ran (--from, written under "
                         "FFPA_JIT_RECORD), the usual tasks (--full-tasks), or "
                         "the one\nproblem of the flags. A config wins only where its output is "
                         "the default's and its lead is outside the noise. "
                         "Every result is kept at\nonce: after an interruption, the same command "
                         "goes on. Under mpirun or srun every rank takes its "
                         "part of the problems.");
  command
      ->add_option("--device", options->device,
                   "cpu, cuda, cuda:N (default: the first GPU, else cpu)")
      ->type_name("DEVICE");
  command->add_option("--gpus", options->gpus, "all, or a list: one worker process on each")
      ->type_name("LIST");
  command->add_option("--from", options->from, "Files that FFPA_JIT_RECORD wrote")
      ->type_name("FILE");
  command->add_flag("--full-tasks", options->full_tasks,
                    "The usual tasks, crossed with --D, --N and --dtypes");
  command->add_option("--tasks", options->grid.tasks, "Of --full-tasks: which (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(attention_task_names()))
      ->type_name("LIST");
  command->add_option("--D", options->grid.head_dims, "Of --full-tasks: head dims")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->type_name("LIST");
  command->add_option("--N", options->grid.lengths, "Of --full-tasks: lengths")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->type_name("LIST");
  command->add_option("--dtypes", options->grid.dtypes, "Of --full-tasks: element types")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
      ->type_name("LIST");
  command
      ->add_option("--families", options->families,
                   "Families to tune (default: the one that serves)")
      ->delimiter(',')
      ->type_name("LIST");
  command
      ->add_option("--mode", options->mode, "fast: the default's neighbours, max: the whole space")
      ->capture_default_str()
      ->check(CLI::IsMember({"fast", "max"}))
      ->type_name("MODE");
  command->add_flag("--overwrite", options->overwrite, "Tune again what was tuned by this version");
  command
      ->add_option("--budget", options->budget_s,
                   "Seconds of measuring a problem (default: 4, with max 30)")
      ->check(CLI::PositiveNumber)
      ->type_name("S");
  command
      ->add_option("--max-candidates", options->max_candidates,
                   "Configs a problem, at most (default: 32, with max 512)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command
      ->add_option("--time-limit", options->run_limit_s,
                   "Seconds after which a candidate that does not end is killed")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->type_name("S");
  command
      ->add_option("--jobs", options->jobs,
                   "Kernels compiled at a time on each device (default: the cores, shared out)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command
      ->add_option("--threads", options->threads, "CPU threads that attention uses (default: all)")
      ->type_name("N");
  command->add_option("--report", options->report, "Write what was tried as one HTML file")
      ->type_name("FILE.html");
  command
      ->add_option("--export", options->export_file,
                   "Write this device's tunings, those that beat the default, as a tuning file")
      ->type_name("FILE.json");
  command->add_flag("--list", options->list, "List the tunings that the cache holds; tune nothing");
  command->add_flag("--dry-run", session.dry_run,
                    "Say what would be tuned and how many configs there are; run nothing");
  options->problem.add_to(*command);
  add_common_options(*command, session);
  command->footer(
      "Examples:\n"
      "  ffpa-jit tune --dtype bf16 --heads 32 --seqlen-q 8192 --head-dim 512 --causal --mode max "
      "--report tune.html\n"
      "  FFPA_JIT_RECORD=problems.jsonl ./my_host; ffpa-jit tune --from problems.jsonl --gpus all\n"
      "  mpirun -n 8 ffpa-jit tune --full-tasks --gpus all --mode max\n"
      "Exit code 1: a problem could not be tuned; 3: nothing serves any of them, or there is no "
      "such device.");
  command->callback([options, &session] {
    session.action = [options, &session] { return tune(session, *options); };
  });
}

}  // namespace ffpa_jit::cli
