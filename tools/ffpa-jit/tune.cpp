// ffpa-jit tune: measures the configs of kernel families on this machine's devices and keeps the
// winners.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>

#include "ffpa-jit/device_tuner.h"
#include "ffpa-jit/flag_checks.h"
#include "io/file.h"
#include "tune/shape_bucket.h"
#include "tune/tuning_file.h"

namespace ffpa_jit::cli {
namespace {

using Clock = std::chrono::steady_clock;

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

// Tunings of these devices that say another config than the default, and those that keep it where
// otherwise one of the others would serve as the nearest. How many there are.
size_t export_tunings(Runtime& runtime, const std::vector<DeviceRef>& devices,
                      const std::filesystem::path& path) {
  struct Row {
    Tuning tuning;
    Problem problem;
    Shape shape;
    bool wins;
  };
  const DeviceInfo device = runtime.devices().open(devices.front())->info();
  std::vector<Row> rows;
  for (Tuning& tuning : runtime.store().tunings(device.identity)) {
    Row row{tuning, parse_problem(tuning.key.problem), {}, false};
    row.shape = parse_bucket(row.problem, parse_tuning_shape(tuning.key.shape_bucket).second);
    for (const KernelFamily* family : kernel_families()) {
      if (family->name() != tuning.family || family->refuses(row.problem, device.target)) continue;
      const KernelConfig config = parse_config(tuning.config);
      row.wins = config != family->default_config(row.problem, row.shape, device);
      if (is_candidate(*family, row.problem, row.shape, device, config)) {
        rows.push_back(std::move(row));
      }
      break;
    }
  }
  std::vector<Tuning> exported;
  for (const Row& row : rows) {
    const bool counts =
        row.wins || std::any_of(rows.begin(), rows.end(), [&](const Row& other) {
          return other.wins && other.tuning.family == row.tuning.family &&
                 tuning_distance(other.problem, other.shape, row.problem, row.shape);
        });
    if (counts) exported.push_back(row.tuning);
  }
  io::write_text(path, tuning_file_text(device.identity, exported));
  return exported.size();
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
  const std::vector<DeviceRef> devices = tuned_devices(options, ranks);
  const ffpa::Runtime runtime = open_runtime(session, {options.threads, FFPA_JIT_POLICY_DEFAULT});
  const std::vector<TuneTask> tasks = tuned_tasks(options, devices.front(), ranks);
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int jobs = options.jobs > 0
                       ? options.jobs
                       : std::max(1, cores / std::max<int>(1, static_cast<int>(devices.size()) *
                                                                  ranks.local_size));

  Standing standing(tasks.size());
  std::vector<std::optional<TuneOutcome>> outcomes(tasks.size());
  std::atomic<size_t> next{0};
  std::mutex output;
  // After every problem, so that a run which is cut short leaves them too.
  const auto write_files = [&]() -> size_t {
    if (!options.report.empty()) {
      std::vector<TuneOutcome> done;
      for (const auto& outcome : outcomes) {
        if (outcome) done.push_back(*outcome);
      }
      io::write_text(options.report, tune_report(done));
    }
    if (options.export_file.empty()) return 0;
    return export_tunings(inside(runtime), devices, options.export_file);
  };
  const auto work = [&](const DeviceRef& device) {
    DeviceTuner tuner(session, options, runtime, device, jobs,
                      [&](const std::string& what) { standing.show(what); });
    for (size_t i = next++; i < tasks.size(); i = next++) {
      TuneOutcome outcome = tuner.tune(tasks[i]);
      standing.finish_one(outcome.result.has_value());
      std::lock_guard lock(output);
      standing.clear();
      outcomes[i] = std::move(outcome);
      write_files();
      if (session.json) {
        print_json(outcomes[i]->json());
      } else {
        fmt::print("{}\n", outcomes[i]->line());
        std::fflush(stdout);
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < devices.size(); ++i) others.emplace_back(work, devices[i]);
    work(devices.front());
  }

  const size_t exported = write_files();
  if (!options.export_file.empty()) {
    fmt::print(stderr, "{} tunings written to {}\n", exported, options.export_file.string());
  }
  const auto count = [&](TuneOutcome::State state) {
    return std::count_if(outcomes.begin(), outcomes.end(),
                         [&](const auto& o) { return o && o->state == state; });
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
      ->check(kAboveZero)
      ->type_name("LIST");
  command->add_option("--N", options->grid.lengths, "Of --full-tasks: lengths")
      ->capture_default_str()
      ->delimiter(',')
      ->check(kAboveZero)
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
      ->check(kSeconds)
      ->type_name("S");
  command
      ->add_option("--max-candidates", options->max_candidates,
                   "Configs a problem, at most (default: 32, with max 512)")
      ->check(kAboveZero)
      ->type_name("N");
  command
      ->add_option("--time-limit", options->run_limit_s,
                   "Seconds after which a candidate that does not end is killed")
      ->capture_default_str()
      ->check(kSeconds)
      ->type_name("S");
  command
      ->add_option("--jobs", options->jobs,
                   "Kernels compiled at a time on each device (default: the cores, shared out)")
      ->check(kAboveZero)
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
