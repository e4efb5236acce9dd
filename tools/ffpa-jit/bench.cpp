// ffpa-jit bench: kernel families timed side by side over the usual tasks. Times are those of warm
// calls through the public library: device events on a GPU, the clock on the CPU.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "ffpa-jit/attention_tasks.h"
#include "ffpa-jit/execution.h"
#include "ffpa-jit/flag_checks.h"
#include "ffpa-jit/session.h"
#include "ffpa-jit/svg.h"
#include "ffpa-jit/synthetic_inputs.h"
#include "io/file.h"
#include "tune/sampling.h"

namespace ffpa_jit::cli {
namespace {

struct BenchOptions {
  std::string device = "cpu";
  TaskGrid grid{{}, {"bf16"}, {64, 128}, {512, 2048}, 1, 8, ""};
  double min_ms = 200;
  int threads = 0;
  std::vector<std::string> families;
  std::filesystem::path plot;
};

// One family on one problem.
struct BenchRow {
  std::string task, name, asked;  // asked: "" = routed
  int64_t length = 0;
  std::string series;  // of the plot
  Execution plan;
  std::string refused;
  std::vector<double> times_ms;
  double flops = 0, kv_bytes = 0;

  double median_ms() const { return summary_of(times_ms).median; }
  double tflops() const { return flops / median_ms() * 1e-9; }

  Json json() const {
    Json out{{"task", task}, {"name", name}};
    if (!asked.empty()) out["asked"] = asked;
    if (!refused.empty()) {
      out["refused"] = refused;
      return out;
    }
    Json about = plan.json();
    about.erase("timings_ms");
    out.update(about);
    const Summary summary = summary_of(times_ms);
    out["median_ms"] = summary.median;
    out["best_ms"] = *std::min_element(times_ms.begin(), times_ms.end());
    out["spread_ms"] = summary.spread;
    out["calls"] = summary.samples;
    out["tflops"] = tflops();
    out["kv_gb_s"] = kv_bytes / summary.median * 1e-6;
    return out;
  }
};

// The families of one problem, each prepared, on the same tensors.
class Contest {
 public:
  Contest(ffpa::Runtime& runtime, const TaskProblem& problem, const DeviceRef& ref,
          const std::vector<std::string>& families)
      : runtime_(runtime), device_(inside(runtime).devices().open(ref)) {
    const RecordedProblem recorded = record_of(DescribedProblem(problem.spec, ref).call());
    inputs_ = std::make_unique<SyntheticInputs>(recorded, ref, device_);
    for (const std::string& family : families) {
      BenchRow row;
      row.task = problem.task;
      row.name = short_text(problem.spec);
      row.asked = family;
      row.length = problem.spec.resolved().seqlen_k;
      row.flops = flops_of(recorded);
      row.kv_bytes = static_cast<double>(recorded.shape.heads_kv * recorded.shape.total_k) *
                     static_cast<double>((recorded.problem.head_dim + recorded.problem.head_dim_v) *
                                         static_cast<int64_t>(bytes_of(recorded.problem.dtype)));
      try {
        prepare(row);
      } catch (const ffpa::Error& error) {
        if (error.status() != FFPA_JIT_UNSUPPORTED) throw;
        row.refused = error.what();
      }
      row.series = fmt::format("{} {} D={}", row.refused.empty() ? row.plan.family : family,
                               name_of(problem.spec.dtype), problem.spec.head_dim);
      rows_.push_back(std::move(row));
    }
  }

  // In turn, so that clocks and neighbours are the same for all, until each has had `min_ms` and
  // three calls.
  std::vector<BenchRow> run(double min_ms) {
    for (BenchRow& row : rows_) {
      if (row.refused.empty()) time_ms(row);  // pages, clocks, pool threads
    }
    std::vector<double> spent(rows_.size());
    for (bool more = true; more;) {
      more = false;
      for (size_t i = 0; i < rows_.size(); ++i) {
        BenchRow& row = rows_[i];
        if (!row.refused.empty() || (spent[i] >= min_ms && row.times_ms.size() >= 3)) continue;
        row.times_ms.push_back(time_ms(row));
        spent[i] += row.times_ms.back();
        more = true;
      }
    }
    return std::move(rows_);
  }

 private:
  ffpa::Attention args_of(const BenchRow& row) const {
    ffpa::Attention args = inputs_->args();
    args.family = row.asked.empty() ? nullptr : row.asked.c_str();
    return args;
  }

  void prepare(BenchRow& row) {
    const ffpa::Plan plan = runtime_.prepare(args_of(row));
    row.plan = Execution(plan.info());
    // Routing let another serve: its time belongs to another row.
    if (!row.asked.empty() && row.asked != row.plan.family) row.refused = row.plan.reason;
  }

  double time_ms(const BenchRow& row) {
    const ffpa::Attention args = args_of(row);
    return device_->time_ms(nullptr, [&] { runtime_.forward(args); });
  }

  ffpa::Runtime& runtime_;
  std::shared_ptr<Device> device_;
  std::unique_ptr<SyntheticInputs> inputs_;
  std::vector<BenchRow> rows_;
};

// A chart for each task: TFLOP/s over the lengths, a line for each family, type and head dim.
std::string plot_of(const std::vector<BenchRow>& rows) {
  std::vector<std::string> charts;
  for (const AttentionTask& task : attention_tasks()) {
    std::vector<int64_t> lengths;
    for (const BenchRow& row : rows) {
      if (row.task == task.name) lengths.push_back(row.length);
    }
    std::sort(lengths.begin(), lengths.end());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
    if (lengths.empty()) continue;
    std::vector<Series> series;
    for (const BenchRow& row : rows) {
      if (row.task != task.name || !row.refused.empty()) continue;
      auto line = std::find_if(series.begin(), series.end(),
                               [&](const Series& s) { return s.name == row.series; });
      if (line == series.end()) {
        line = series.insert(series.end(),
                             {row.series, std::vector<std::optional<double>>(lengths.size())});
      }
      const auto at =
          std::lower_bound(lengths.begin(), lengths.end(), row.length) - lengths.begin();
      line->values[static_cast<size_t>(at)] = row.tflops();
    }
    std::vector<std::string> labels;
    for (const int64_t length : lengths) labels.push_back(std::to_string(length));
    charts.push_back(line_chart(std::string(task.name), "TFLOP/s", labels, series));
  }
  return chart_page(charts, 2);
}

int bench(const Session& session, const BenchOptions& options) {
  const DeviceRef device = parse_device(options.device);
  ffpa::Runtime runtime = open_runtime(session, {options.threads, FFPA_JIT_POLICY_DEFAULT});
  const std::vector<std::string> families =
      options.families.empty() ? std::vector<std::string>{""} : options.families;
  Table table({{"task"},
               {"problem"},
               {"family"},
               {"config"},
               {"median ms", true},
               {"best ms", true},
               {"calls", true},
               {"TFLOP/s", true}});
  std::vector<BenchRow> rows;
  for (const TaskProblem& problem : task_problems(options.grid)) {
    for (BenchRow& row : Contest(runtime, problem, device, families).run(options.min_ms)) {
      if (session.json) {
        print_json(row.json());
      } else if (row.refused.empty()) {
        table.add({row.task, row.name, row.plan.family, row.plan.config,
                   milliseconds(row.median_ms()),
                   milliseconds(*std::min_element(row.times_ms.begin(), row.times_ms.end())),
                   std::to_string(row.times_ms.size()), fmt::format("{:.3f}", row.tflops())});
      } else {
        table.add({row.task, row.name, row.asked, "refused", "-", "-", "-", "-"});
      }
      rows.push_back(std::move(row));
    }
  }
  if (!options.plot.empty()) io::write_text(options.plot, plot_of(rows));
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
                                         "Time kernel families side by side over the usual tasks. "
                                         "FLOPs count visible (query, key) pairs only, causal\n"
                                         "included; a mask's hidden pairs count as visible.");
  command->add_option("--device", options->device, "cpu, cuda, cuda:N")
      ->capture_default_str()
      ->type_name("DEVICE");
  command->add_option("--tasks", options->grid.tasks, "Which tasks (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(attention_task_names()))
      ->type_name("LIST");
  command->add_option("--dtype", options->grid.dtypes, "Element types")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
      ->type_name("LIST");
  command->add_option("--N", options->grid.lengths, "Lengths")
      ->capture_default_str()
      ->delimiter(',')
      ->check(kAboveZero)
      ->type_name("LIST");
  command->add_option("--D", options->grid.head_dims, "Head dims")
      ->capture_default_str()
      ->delimiter(',')
      ->check(kAboveZero)
      ->type_name("LIST");
  command->add_option("--batch", options->grid.batch, "Batch")
      ->capture_default_str()
      ->check(kAboveZero)
      ->type_name("B");
  command->add_option("--heads", options->grid.heads, "Query heads")
      ->capture_default_str()
      ->check(kAboveZero)
      ->type_name("H");
  command->add_option("--min-time", options->min_ms, "Milliseconds to spend on each row, at least")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->type_name("MS");
  command
      ->add_option("--threads", options->threads, "CPU threads (default: all this process may use)")
      ->type_name("N");
  command
      ->add_option("--family,--families", options->families,
                   "Kernel families to compare (default: the one that serves)")
      ->delimiter(',')
      ->type_name("LIST");
  command
      ->add_option("--plot", options->plot,
                   "Also draw TFLOP/s over the lengths, one chart for each task")
      ->type_name("FILE.svg");
  add_common_options(*command, session);
  command->footer(
      "Examples:\n"
      "  ffpa-jit bench --tasks self-attn,causal --dtype bf16,fp32 --N 512,2048 --D 64,128,256,512 "
      "--json\n"
      "  ffpa-jit bench --device cuda --families wgmma,mma --N 1024,4096,16384 --D 128,512 --heads "
      "32 --plot h200.svg");
  command->callback([options, &session] {
    session.action = [options, &session] { return bench(session, *options); };
  });
}

}  // namespace ffpa_jit::cli
