// ffpa-jit bench: attention timed over the usual tasks. Times are those of warm calls through the
// public library: device events on a GPU, the clock on the CPU.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>

#include "ffpa-jit/execution.h"
#include "ffpa-jit/session.h"

namespace ffpa_jit::cli {
namespace {

struct BenchOptions {
  std::string device = "cpu";
  std::vector<std::string> tasks, dtypes = {"bf16"};
  std::vector<int64_t> lengths = {512, 2048}, head_dims = {64, 128};
  int64_t batch = 1, heads = 8;
  double min_ms = 200;
  int threads = 0;
  std::string family;
};

struct Task {
  std::string_view name;
  void (*shape)(ProblemSpec& spec);  // from plain self-attention of length N
};
constexpr std::array<Task, 8> kTasks = {{
    {"self-attn", [](ProblemSpec&) {}},
    {"cross-attn", [](ProblemSpec& s) { s.seqlen_q = std::max<int64_t>(1, s.seqlen_q / 4); }},
    {"decode-attn", [](ProblemSpec& s) { s.seqlen_q = 1; }},
    {"gqa", [](ProblemSpec& s) { s.kv_heads = s.heads % 4 == 0 ? s.heads / 4 : 1; }},
    {"causal", [](ProblemSpec& s) { s.causal = true; }},
    {"attn-mask", [](ProblemSpec& s) { s.mask = parse_mask("bool:11qk"); }},
    {"dropout", [](ProblemSpec& s) { s.dropout = 0.1; }},
    {"non-aligned",
     [](ProblemSpec& s) { s.seqlen_q = s.seqlen_k = std::max<int64_t>(1, s.seqlen_k - 13); }},
}};

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const Task& task : kTasks) names.emplace_back(task.name);
  return names;
}

struct Timing {
  double median_ms = 0, best_ms = 0;
  int calls = 0;
};

// Calls until `min_ms` have passed, at least three.
Timing time_calls(ffpa::Runtime& runtime, OnDevice& problem, double min_ms) {
  runtime.forward(problem.args());  // pages, clocks, pool threads
  std::vector<double> times;
  for (double spent = 0; spent < min_ms || times.size() < 3;) {
    times.push_back(problem.time_ms([&] { runtime.forward(problem.args()); }));
    spent += times.back();
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front(), static_cast<int>(times.size())};
}

int bench(const Session& session, const BenchOptions& options) {
  const DeviceRef device = parse_device(options.device);
  ffpa::Runtime runtime = open_runtime(session, {options.threads, FFPA_JIT_POLICY_DEFAULT});
  const std::shared_ptr<Device> copying = copying_device(runtime, device);
  Executor executor(runtime);
  Table table({{"task"},
               {"problem"},
               {"family"},
               {"config"},
               {"median ms", true},
               {"best ms", true},
               {"calls", true},
               {"TFLOP/s", true}});
  for (const Task& task : kTasks) {
    if (!options.tasks.empty() &&
        std::find(options.tasks.begin(), options.tasks.end(), task.name) == options.tasks.end()) {
      continue;
    }
    for (const std::string& dtype : options.dtypes) {
      for (const int64_t head_dim : options.head_dims) {
        for (const int64_t length : options.lengths) {
          ProblemSpec spec;
          spec.dtype = dtype_of(dtype).value();
          spec.batch = options.batch;
          spec.heads = options.heads;
          spec.head_dim = head_dim;
          spec.seqlen_q = spec.seqlen_k = length;
          spec.family = options.family;
          task.shape(spec);
          const auto problem = generate_problem(spec, device, 1);
          OnDevice on_device(*problem, copying);
          const Execution first = executor.execute(on_device, 1);
          const Timing timing = time_calls(runtime, on_device, options.min_ms);
          const double tflops = forward_flops(problem->args) / timing.median_ms * 1e-9;
          if (session.json) {
            Json out{{"task", task.name}, {"name", problem->name}};
            Json about = first.json();
            about.erase("timings_ms");
            out.update(about);
            out["median_ms"] = timing.median_ms;
            out["best_ms"] = timing.best_ms;
            out["calls"] = timing.calls;
            out["tflops"] = tflops;
            print_json(out);
          } else {
            table.add({std::string(task.name), problem->name, first.family, first.config,
                       milliseconds(timing.median_ms), milliseconds(timing.best_ms),
                       std::to_string(timing.calls), fmt::format("{:.3f}", tflops)});
          }
        }
      }
    }
  }
  if (!session.json) {
    table.print();
    const DeviceInfo info = inside(runtime).devices().open(device)->info();
    fmt::print(stderr, "{}: {}, {}, {} {}; ffpa-jit {}\n", info.text, info.name,
               text_of(info.target), info.multiprocessors,
               device.kind == TargetKind::kCpu ? "threads" : "multiprocessors", ffpa_jit_version());
  }
  return kOk;
}

}  // namespace

void add_bench_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand("bench",
                                         "Time attention over the usual tasks. FLOPs count visible "
                                         "(query, key) pairs only, causal included; a mask's\n"
                                         "hidden pairs count as visible.");
  command->add_option("--device", options->device, "cpu, cuda, cuda:N")
      ->capture_default_str()
      ->type_name("DEVICE");
  command->add_option("--tasks", options->tasks, "Which tasks (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(task_names()))
      ->type_name("LIST");
  command->add_option("--dtype", options->dtypes, "Element types")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
      ->type_name("LIST");
  command->add_option("--N", options->lengths, "Lengths")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->type_name("LIST");
  command->add_option("--D", options->head_dims, "Head dims")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->type_name("LIST");
  command->add_option("--batch", options->batch, "Batch")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->type_name("B");
  command->add_option("--heads", options->heads, "Query heads")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->type_name("H");
  command->add_option("--min-time", options->min_ms, "Milliseconds to spend on each row, at least")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->type_name("MS");
  command
      ->add_option("--threads", options->threads, "CPU threads (default: all this process may use)")
      ->type_name("N");
  command->add_option("--family", options->family, "Kernel family (default: routed)")
      ->type_name("NAME");
  add_common_options(*command, session);
  command->footer(
      "Example: ffpa-jit bench --tasks self-attn,causal --dtype bf16,fp32 --N 512,2048 --D "
      "64,128,256,512 --json");
  command->callback([options, &session] {
    session.action = [options, &session] { return bench(session, *options); };
  });
}

}  // namespace ffpa_jit::cli
