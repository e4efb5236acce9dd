// ffpa-jit warmup: compile kernels ahead of their use, for this machine or for others.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "device/cuda/cuda_device.h"
#include "ffpa-jit/device_choice.h"
#include "ffpa-jit/flag_checks.h"
#include "ffpa-jit/inspection.h"
#include "ffpa-jit/known_devices.h"
#include "ffpa-jit/session.h"
#include "ffpa-jit/warmup_problem.h"

namespace ffpa_jit::cli {
namespace {

struct WarmupOptions {
  std::filesystem::path file;
  ProblemFlags problem;
  std::vector<std::string> targets;
  std::vector<std::string> phases = {"prefill", "decode"};
  std::vector<std::string> descriptions;  // of devices, --for
  int64_t seqlen = 2048;
  int jobs = 0;
};

enum class KernelState { kMissing, kCached, kCompiled, kFailed };

// One kernel to be in the cache; problems that need the same one share it.
struct KernelJob {
  KernelSource source;
  KernelOrigin origin;
  std::string key;
  KernelState state = KernelState::kMissing;
  double compile_ms = 0;
  ffpa_jit_status status = FFPA_JIT_OK;
  std::string error = {};

  Json json() const {
    Json out{{"key", key},
             {"target", text_of(source.target)},
             {"family", origin.family},
             {"problem", origin.problem},
             {"config", origin.config}};
    if (state == KernelState::kCompiled) out["compile_ms"] = compile_ms;
    if (state == KernelState::kFailed) {
      out["status"] = ffpa_jit_status_name(status);
      out["error"] = error;
    }
    return out;
  }
};

// One problem on one target.
struct Assignment {
  size_t problem = 0;
  int64_t seqlen_q = 0;
  std::string target, device, family, config, refused;
  std::vector<std::string> kernels;

  Json json() const {
    Json out{{"target", target}, {"device", device}, {"seqlen_q", seqlen_q}};
    if (!refused.empty()) {
      out["refused"] = refused;
      return out;
    }
    out["family"] = family;
    out["config"] = config;
    out["kernels"] = kernels;
    return out;
  }
};

struct WantedDevice {
  std::string target;
  std::string description;  // empty: this machine's, or a typical one
};

// Each target with the descriptions that are of its kind: a CPU's, or a GPU's of its architecture.
std::vector<WantedDevice> wanted_devices(const WarmupOptions& options) {
  std::vector<WantedDevice> wanted;
  if (options.targets.empty()) {
    for (const std::string& text : options.descriptions) {
      wanted.push_back({target_described_by(text), text});
    }
    if (!wanted.empty()) return wanted;
    wanted.push_back({"cpu", ""});
    std::set<std::string> seen;
    for (const DeviceInfo& device : list_cuda_devices(nullptr)) {
      const std::string text = text_of(device.target);
      if (seen.insert(text).second) wanted.push_back({text, ""});
    }
    return wanted;
  }
  std::set<std::string> used;
  for (const std::string& text : options.targets) {
    const Target target = parse_target(text);
    const size_t before = wanted.size();
    for (const std::string& description : options.descriptions) {
      if (!describes_cpu(description)) {
        const Target described = parse_target(target_described_by(description));
        if (target.kind != TargetKind::kCuda ||
            target.compute_capability() != described.compute_capability()) {
          continue;
        }
      } else if (target.kind != TargetKind::kCpu) {
        continue;
      }
      wanted.push_back({text, description});
      used.insert(description);
    }
    if (wanted.size() == before) wanted.push_back({text, ""});
  }
  for (const std::string& description : options.descriptions) {
    if (used.contains(description)) continue;
    throw_error(FFPA_JIT_INVALID_ARGUMENT,
                "--for: '{}' is a device of none of the targets {}; name its target too, or leave "
                "--target out to compile for what --for names",
                description, fmt::join(options.targets, ", "));
  }
  return wanted;
}

WarmupList problems_of(const WarmupOptions& options) {
  const ProblemSpec spec = options.problem.spec();
  if (options.file.empty()) {
    WarmupList list;
    const ProblemSpec resolved = spec.resolved();
    list.problems.push_back({resolved, {resolved.seqlen_q}});
    return list;
  }
  ModelSizes sizes;
  sizes.batch = spec.batch;
  sizes.seqlen = options.seqlen;
  sizes.prefill =
      std::find(options.phases.begin(), options.phases.end(), "prefill") != options.phases.end();
  sizes.decode =
      std::find(options.phases.begin(), options.phases.end(), "decode") != options.phases.end();
  const std::optional<DType> dtype =
      options.problem.has_dtype() ? std::optional(spec.dtype) : std::nullopt;
  WarmupList list = read_warmup_file(options.file, dtype, sizes);
  for (WarmupProblem& problem : list.problems) {
    if (spec.lse) problem.spec.lse = true;
    if (!spec.family.empty()) problem.spec.family = spec.family;
  }
  return list;
}

class Warmup {
 public:
  Warmup(const Session& session, const WarmupOptions& options)
      : session_(session),
        options_(options),
        list_(problems_of(options)),
        runtime_(open_runtime(session)) {}

  int run() {
    if (!session_.dry_run) store_on_disk(runtime_);  // else all would be lost at the end
    const auto start = std::chrono::steady_clock::now();
    for (const WantedDevice& wanted : wanted_devices(options_)) {
      const ChosenDevice device = device_for_target(runtime_, wanted.target, wanted.description);
      for (size_t i = 0; i < list_.problems.size(); ++i) {
        for (const int64_t seqlen_q : list_.problems[i].seqlens_q) assign(i, seqlen_q, device);
      }
    }
    if (!session_.dry_run) compile();
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    session_.json ? print_json(json()) : print_tables();
    if (!session_.dry_run) store_on_disk(runtime_);  // it may have filled up meanwhile
    return exit_code();
  }

 private:
  void assign(size_t index, int64_t seqlen_q, const ChosenDevice& device) {
    Assignment out;
    out.problem = index;
    out.seqlen_q = seqlen_q;
    out.target = text_of(device.info.target);
    out.device = device.info.name;
    try {
      const Inspection seen =
          inspect(runtime_, DescribedProblem(spec_of(out), device.ref).call(), device.info);
      out.family = seen.family;
      out.config = seen.config;
      for (size_t i = 0; i < seen.keys.size(); ++i) {
        if (seen.keys[i].empty()) continue;
        out.kernels.push_back(seen.keys[i]);
        KernelJob job{seen.planned.sources[i],
                      {seen.family, text_of(seen.problem), seen.config},
                      seen.keys[i]};
        if (inside(runtime_).kernels().find(job.source)) job.state = KernelState::kCached;
        kernels_.emplace(seen.keys[i], std::move(job));
      }
    } catch (const Error& error) {
      out.refused = error.what();
    }
    assignments_.push_back(std::move(out));
  }

  ProblemSpec spec_of(const Assignment& each) const {
    ProblemSpec spec = list_.problems[each.problem].spec;
    spec.seqlen_q = each.seqlen_q;
    return spec;
  }

  void compile() {
    std::vector<KernelJob*> missing;
    for (auto& [key, job] : kernels_) {
      if (job.state == KernelState::kMissing) missing.push_back(&job);
    }
    Progress progress("compiling", missing.size());
    std::atomic<size_t> next{0};
    const auto work = [&] {
      for (size_t i = next++; i < missing.size(); i = next++) {
        KernelJob& job = *missing[i];
        compile_one(job);
        progress.advance(fmt::format("{} {}", text_of(job.source.target), job.origin.problem));
      }
    };
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    const size_t threads =
        std::min<size_t>(options_.jobs > 0 ? options_.jobs : cores, missing.size());
    std::vector<std::jthread> pool;
    for (size_t i = 1; i < threads; ++i) pool.emplace_back(work);
    work();
  }

  // A kernel another process compiled meanwhile counts as cached.
  void compile_one(KernelJob& job) {
    try {
      const ProvidedKernel made =
          inside(runtime_).kernels().find_or_compile(job.source, job.origin);
      job.state = made.cache_hit ? KernelState::kCached : KernelState::kCompiled;
      job.compile_ms = made.compile_ms;
      if (!made.kept) {
        throw_error(FFPA_JIT_CACHE_ERROR,
                    "compiled, but the cache could not keep it (a warning says why): it is lost");
      }
    } catch (const Error& error) {
      job.state = KernelState::kFailed;
      job.status = error.code();
      job.error = error.what();
    }
  }

  Json kernels_in(KernelState state) const {
    Json out = Json::array();
    for (const auto& [key, job] : kernels_) {
      if (job.state == state) out.push_back(job.json());
    }
    return out;
  }
  size_t count(KernelState state) const {
    return static_cast<size_t>(
        std::count_if(kernels_.begin(), kernels_.end(),
                      [&](const auto& entry) { return entry.second.state == state; }));
  }
  bool refused(size_t problem) const {
    return std::any_of(assignments_.begin(), assignments_.end(), [&](const Assignment& each) {
      return each.problem == problem && !each.refused.empty();
    });
  }

  Json json() const {
    Json problems = Json::array();
    Json refusals = Json::array();
    for (size_t i = 0; i < list_.problems.size(); ++i) {
      Json entry = list_.problems[i].json();
      entry["targets"] = Json::array();
      for (const Assignment& each : assignments_) {
        if (each.problem != i) continue;
        entry["targets"].push_back(each.json());
        if (!each.refused.empty())
          refusals.push_back({{"problem", i}, {"target", each.target}, {"reason", each.refused}});
      }
      entry["refused"] = refused(i);
      problems.push_back(std::move(entry));
    }
    Json out{{"file", options_.file.string()},
             {"model_type", list_.model_type},
             {"dry_run", session_.dry_run},
             {"problems", std::move(problems)}};
    if (session_.dry_run) out["to_compile"] = kernels_in(KernelState::kMissing);
    out["compiled"] = kernels_in(KernelState::kCompiled);
    out["cached"] = kernels_in(KernelState::kCached);
    out["failed"] = kernels_in(KernelState::kFailed);
    out["refused"] = std::move(refusals);
    out["without_attention"] = list_.skipped;
    out["seconds"] = seconds_;
    return out;
  }

  std::string state_of(const Assignment& each) const {
    if (!each.refused.empty()) return bad("refused");
    std::string state = each.kernels.empty() ? "built in" : "cached";
    for (const std::string& key : each.kernels) {
      switch (kernels_.at(key).state) {
        case KernelState::kFailed:
          return bad("failed");
        case KernelState::kMissing:
          state = "to compile";
          break;
        case KernelState::kCompiled:
          state = good("compiled");
          break;
        case KernelState::kCached:
          break;
      }
    }
    return state;
  }

  void print_tables() const {
    Table table(
        {{"layers", true}, {"kind"}, {"problem"}, {"target"}, {"family"}, {"config"}, {"state"}});
    for (const Assignment& each : assignments_) {
      const WarmupProblem& problem = list_.problems[each.problem];
      table.add({std::to_string(problem.layers),
                 problem.layer_type.empty() ? "-" : problem.layer_type, short_text(spec_of(each)),
                 each.target, each.refused.empty() ? each.family : "-",
                 each.refused.empty() ? each.config : "-", state_of(each)});
    }
    table.print();
    for (const Assignment& each : assignments_) {
      if (!each.refused.empty()) {
        fmt::print(stderr, "refused: {} on {}: {}\n", short_text(spec_of(each)), each.target,
                   each.refused);
      }
    }
    for (const auto& [key, job] : kernels_) {
      if (job.state == KernelState::kFailed) {
        fmt::print(stderr, "failed: {} for {}: {}\n", job.origin.problem,
                   text_of(job.source.target), job.error);
      }
    }
    fmt::print(
        stderr, "kernels: {} compiled, {} cached, {} failed{} in {:.1f} s\n",
        count(KernelState::kCompiled), count(KernelState::kCached), count(KernelState::kFailed),
        session_.dry_run ? fmt::format(", {} to compile (dry run)", count(KernelState::kMissing))
                         : "",
        seconds_);
  }

  int exit_code() const {
    bool only_no_compiler = true;
    for (const auto& [key, job] : kernels_) {
      if (job.state == KernelState::kFailed && job.status != FFPA_JIT_NO_COMPILER)
        only_no_compiler = false;
    }
    if (count(KernelState::kFailed) > 0) return only_no_compiler ? kUnavailable : kFailed;
    const bool all_refused =
        std::all_of(assignments_.begin(), assignments_.end(),
                    [](const Assignment& each) { return !each.refused.empty(); });
    return all_refused && !assignments_.empty() ? kUnavailable : kOk;
  }

  const Session& session_;
  const WarmupOptions& options_;
  WarmupList list_;
  ffpa::Runtime runtime_;
  std::vector<Assignment> assignments_;
  std::map<std::string, KernelJob> kernels_;
  double seconds_ = 0;
};

}  // namespace

void add_warmup_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<WarmupOptions>();
  CLI::App* command =
      app.add_subcommand("warmup",
                         "Compile kernels ahead of their use and put them into the cache.\n"
                         "The problems come from a model's Hugging Face config.json (or the "
                         "directory it lies in), from a JSON problem\n"
                         "file, or from the flags. Targets need not be present here. Finished "
                         "kernels are in the cache at once: after an\n"
                         "interruption, the same command goes on where it was.");
  command->add_option("FILE", options->file,
                      "config.json of a model, or a file {\"problems\": [{\"heads\": ...}, ...]}");
  command
      ->add_option("--target", options->targets,
                   "Targets to compile for: cpu, cpu:x86-64-v3, sm_80, sm_90a, ... (default: what "
                   "this machine has)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("LIST");
  command
      ->add_option("--for", options->descriptions,
                   "The devices that will run them, repeatable: a GPU as its driver names it "
                   "(default: a typical one of the target), a CPU as \"cpu:x86-64-v4 threads=64 "
                   "l2=2M\" (default: this machine's)")
      ->allow_extra_args(false)
      ->type_name("NAME");
  command
      ->add_option("--phase", options->phases,
                   "Of a model: prefill (as many queries as keys), decode (one query)")
      ->capture_default_str()
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"prefill", "decode"}))
      ->type_name("LIST");
  command->add_option("--seqlen", options->seqlen, "Of a model: the length to compile for")
      ->capture_default_str()
      ->check(kAboveZero)
      ->type_name("N");
  command->add_option("--jobs", options->jobs, "Kernels compiled at a time (default: one per core)")
      ->check(kAboveZero)
      ->type_name("N");
  command->add_flag("--dry-run", session.dry_run,
                    "Say what would be compiled and what is cached; compile nothing");
  options->problem.add_to(*command);
  add_common_options(*command, session);
  command->footer(
      "Examples:\n"
      "  ffpa-jit warmup config.json --target sm_90a,cpu --for \"NVIDIA H200\"\n"
      "  ffpa-jit warmup --target sm_80,sm_89 --head-dim 512 --causal --dtype bf16\n"
      "Exit code 1: a kernel did not compile; 3: there is no compiler, or every problem was "
      "refused.");
  command->callback([options, &session] {
    session.action = [options, &session] { return Warmup(session, *options).run(); };
  });
}

}  // namespace ffpa_jit::cli
