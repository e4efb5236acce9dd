// ffpa-jit run: attention on generated or given tensors, checked against fp64, timed.
#include <CLI/CLI.hpp>
#include <memory>

#include "ffpa-jit/check.h"
#include "ffpa-jit/execution.h"
#include "ffpa-jit/input_files.h"
#include "ffpa-jit/inspection.h"
#include "ffpa-jit/session.h"
#include "io/safetensors.h"

namespace ffpa_jit::cli {
namespace {

struct RunOptions {
  std::string device = "cpu";
  ProblemFlags problem;
  std::vector<std::filesystem::path> inputs;
  std::optional<std::string> prefix;
  std::filesystem::path output;
  int repeats = 3;
  int threads = 0;
  bool check_all = false;
};

Json check_json(const Check& check) {
  Json out{{"rel_error", check.rel_error},
           {"tolerance", check.tolerance},
           {"plain_error", check.plain_error},
           {"checked_rows", check.checked_rows},
           {"rows", check.rows},
           {"ok", check.ok}};
  if (check.lse_error) {
    out["lse_error"] = *check.lse_error;
    out["lse_tolerance"] = check.lse_tolerance;
  }
  if (check.expected_error) {
    out["expected_error"] = *check.expected_error;
    out["expected_tolerance"] = check.expected_tolerance;
  }
  return out;
}

io::HostTensor as_host_tensor(const ffpa_jit_tensor& tensor) {
  const io::Element element = tensor.dtype == FFPA_JIT_FP32   ? io::Element::kFp32
                              : tensor.dtype == FFPA_JIT_FP16 ? io::Element::kFp16
                                                              : io::Element::kBf16;
  const auto* bytes = static_cast<const std::byte*>(tensor.data);
  return {element, {tensor.sizes, tensor.sizes + tensor.rank}, {bytes, bytes + bytes_of(tensor)}};
}

void keep_outputs(const HostProblem& problem, bool only_one, io::NamedTensors& outputs) {
  const std::string prefix = only_one ? "" : problem.name + ".";
  outputs[prefix + "o"] = as_host_tensor(problem.args.o);
  outputs[prefix + "lse"] = as_host_tensor(problem.args.lse);
}

std::string checked_text(const Check& check) {
  return check.checked_rows == check.rows ? "all"
                                          : fmt::format("{}/{}", check.checked_rows, check.rows);
}

int dry_run(const Session& session, const ffpa::Runtime& runtime,
            const std::vector<std::unique_ptr<HostProblem>>& problems) {
  Table table({{"problem"}, {"device"}, {"family"}, {"config"}, {"cache"}, {"generate ms", true}});
  for (const auto& problem : problems) {
    const Inspection seen = inspect(runtime, problem->args);
    if (session.json) {
      Json out = seen.json();
      out["name"] = problem->name;
      out["dry_run"] = true;
      print_json(out);
    } else {
      table.add({problem->name, seen.device.text, seen.family, seen.config,
                 seen.cached ? "hit" : "miss", milliseconds(seen.planned.generate_ms)});
    }
  }
  if (!session.json) table.print();
  return kOk;
}

int run(const Session& session, const RunOptions& options) {
  const DeviceRef device = parse_device(options.device);
  ProblemSpec spec = options.problem.spec();
  if (!options.output.empty()) spec.lse = true;
  if (options.repeats < 1)
    throw_error(FFPA_JIT_INVALID_ARGUMENT, "--repeat is {}; at least 1", options.repeats);
  const uint64_t seed = options.problem.has_seed() ? options.problem.seed() : fresh_seed();
  if (options.prefix && options.inputs.empty()) {
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "--prefix picks tensors of a file; give the file with --input");
  }
  ffpa::Runtime runtime = open_runtime(session, {options.threads, FFPA_JIT_POLICY_DEFAULT});
  std::vector<std::unique_ptr<HostProblem>> problems;
  if (options.inputs.empty()) {
    problems.push_back(session.dry_run ? describe_problem(spec, device)
                                       : generate_problem(spec, device, seed));
  } else {
    problems = read_problems(options.inputs, options.prefix, spec,
                             options.problem.has_dtype() ? std::optional(spec.dtype) : std::nullopt,
                             device, seed);
  }
  if (session.dry_run) return dry_run(session, runtime, problems);

  const std::shared_ptr<Device> copying = copying_device(runtime, device);
  const bool expected = std::any_of(problems.begin(), problems.end(),
                                    [](const auto& p) { return p->expected.has_value(); });
  std::vector<Table::Column> columns = {{"problem"},
                                        {"device"},
                                        {"family"},
                                        {"config"},
                                        {"cache"},
                                        {"generate ms", true},
                                        {"compile ms", true},
                                        {"load ms", true},
                                        {"run ms", true},
                                        {"error", true},
                                        {"tolerance", true},
                                        {"rows"},
                                        {"ok"}};
  if (expected) columns.insert(columns.begin() + 12, {"vs out", true});
  Table table(std::move(columns));
  io::NamedTensors outputs;
  std::vector<std::string> reasons;
  bool all_ok = true;
  Executor executor(runtime);
  for (const auto& problem : problems) {
    OnDevice on_device(*problem, copying);
    const Execution done = executor.execute(on_device, options.repeats);
    const Check checked =
        check(*problem, options.check_all ? CheckRows::kAll : CheckRows::kSome, seed);
    all_ok = all_ok && checked.ok;
    if (!options.output.empty()) keep_outputs(*problem, problems.size() == 1, outputs);
    if (session.json) {
      Json out{{"name", problem->name}};
      out.update(done.json());
      out.update(check_json(checked));
      out["repeats"] = done.repeats;
      out["tflops"] = forward_flops(problem->args) / done.run_ms * 1e-9;
      if (problem->seed || problem->args.dropout_p > 0) out["seed"] = seed;
      print_json(out);
      continue;
    }
    std::vector<std::string> cells = {problem->name,
                                      done.device,
                                      done.family,
                                      done.config,
                                      done.cache_hit ? "hit" : "miss",
                                      milliseconds(done.generate_ms),
                                      milliseconds(done.compile_ms),
                                      milliseconds(done.load_ms),
                                      milliseconds(done.run_ms),
                                      fmt::format("{:.2e}", checked.rel_error),
                                      fmt::format("{:.2e}", checked.tolerance),
                                      checked_text(checked)};
    if (expected)
      cells.push_back(checked.expected_error ? fmt::format("{:.2e}", *checked.expected_error)
                                             : "-");
    cells.push_back(checked.ok ? good("yes") : bad("NO"));
    table.add(std::move(cells));
    if (std::find(reasons.begin(), reasons.end(), done.reason) == reasons.end())
      reasons.push_back(done.reason);
  }
  if (!session.json) {
    table.print();
    for (const std::string& reason : reasons) fmt::print(stderr, "reason: {}\n", reason);
    if (problems.front()->seed || spec.dropout > 0) fmt::print(stderr, "seed: {}\n", seed);
  }
  if (!options.output.empty()) {
    io::write_safetensors(options.output, outputs);
    fmt::print(stderr, "wrote {} tensors to {}\n", outputs.size(), options.output.string());
  }
  return all_ok ? kOk : kFailed;
}

}  // namespace

void add_run_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run",
                                         "Compute attention on generated or given tensors, compare "
                                         "it with an fp64 reference, and time it.\n"
                                         "Outputs are poisoned with NaN before every run. The "
                                         "tolerance is 1.2 x the error of the plain unfused\n"
                                         "implementation in the same element type; of a large "
                                         "problem, a random sample of rows is checked.");
  command->add_option("--device", options->device, "cpu, cuda, cuda:N")
      ->capture_default_str()
      ->type_name("DEVICE");
  options->problem.add_to(*command);
  command
      ->add_option("--input,--npy", options->inputs,
                   "A .safetensors file, .npy files, or a directory of .npy files with q, k, v and "
                   "optionally mask, bias, out, "
                   "cu_seqlens_q, cu_seqlens_k")
      ->delimiter(',')
      ->type_name("FILE");
  command
      ->add_option(
          "--prefix", options->prefix,
          "Tensors of the file to use, e.g. layers.0. (default: every prefix, one problem each)")
      ->type_name("TEXT");
  command->add_option("--output", options->output, "Write o and lse to this .safetensors file")
      ->type_name("FILE");
  command->add_option("--repeat", options->repeats, "Timed runs; their median is printed")
      ->capture_default_str()
      ->type_name("N");
  command
      ->add_option("--threads", options->threads, "CPU threads (default: all this process may use)")
      ->type_name("N");
  command->add_flag("--check-all", options->check_all,
                    "Check every row, however long the reference takes");
  command->add_flag("--dry-run", session.dry_run,
                    "Say what would run and whether it is cached; compile and run nothing");
  add_common_options(*command, session);
  command->footer(
      "Examples:\n"
      "  ffpa-jit run --device cpu --dtype bf16 --heads 8 --kv-heads 2 --seqlen-q 1024 --head-dim "
      "512 --causal\n"
      "  ffpa-jit run --device cuda --mask bias:11qk --dropout 0.1 --seed 7 --json\n"
      "  ffpa-jit run --input examples/data/minilm.safetensors --output o.safetensors\n"
      "Exit code 1: a result is out of tolerance.");
  command->callback([options, &session] {
    session.action = [options, &session] { return run(session, *options); };
  });
}

}  // namespace ffpa_jit::cli
