// ffpa-jit doctor: what this machine has and lacks, what that costs, what to install. Exit code 0
// when attention works on the CPU, whatever else is missing.
#include <CLI/CLI.hpp>

#include "device/cuda/cuda_device.h"
#include "ffpa-jit/check.h"
#include "ffpa-jit/execution.h"
#include "ffpa-jit/session.h"
#include "policy/environment.h"

namespace ffpa_jit::cli {
namespace {

enum class State { kOk, kAbsent, kBroken };

struct Finding {
  std::string what;
  State state = State::kOk;
  std::string detail = {};  // version, path; or why it is absent
  std::string cost = {};    // what does not work, or is slower
  std::string remedy = {};

  std::string_view state_text() const {
    return state == State::kOk ? "ok" : state == State::kAbsent ? "absent" : "broken";
  }
};

// What the library cannot do without a compiler, by CompilerStatus::name.
std::string cost_of(const std::string& compiler) {
  if (compiler == "clang") {
    return "CPU kernels that are not cached are served by the portable kernel, several times "
           "slower";
  }
  return "CUDA kernels that are not cached cannot be compiled: CUDA calls fail unless a warmed-up "
         "cache is there";
}

Finding attention_on_cpu(ffpa::Runtime& runtime) {
  Finding out{"attention on the CPU"};
  try {
    ProblemSpec spec;
    spec.dtype = DType::kFp32;
    spec.heads = 2;
    spec.seqlen_q = 33;
    spec.head_dim = 40;
    spec.causal = true;
    const auto problem = generate_problem(spec, {TargetKind::kCpu, 0}, 1);
    OnDevice on_device(*problem, nullptr);
    const Execution done = Executor(runtime).execute(on_device, 1);
    const Check checked = check(*problem, CheckRows::kAll, 1);
    out.detail = fmt::format("family {}, cache {}, error {:.1e} (tolerance {:.1e})", done.family,
                             done.cache_hit ? "hit" : "miss", checked.rel_error, checked.tolerance);
    if (!checked.ok) {
      out.state = State::kBroken;
      out.cost = "results on this machine are wrong";
      out.remedy =
          "`ffpa-jit cache verify`, then report this with the output of `ffpa-jit doctor --json`";
    }
  } catch (const std::exception& error) {
    out.state = State::kBroken;
    out.detail = error.what();
    out.cost = "nothing works";
    out.remedy = "report this with the output of `ffpa-jit doctor --json`";
  }
  return out;
}

Finding cpu_level(Runtime& runtime) {
  const DeviceInfo info = runtime.devices().open({TargetKind::kCpu, 0})->info();
  Finding out{
      "CPU", State::kOk,
      fmt::format("{}, {}, {} threads", info.name, text_of(info.target), info.multiprocessors)};
  if (info.target.arch == "x86-64") {
    out.cost = "no AVX2: CPU attention uses SSE2 only";
  } else if (info.target.arch == "x86-64-v3") {
    out.cost = "no AVX-512: about half the speed of a processor that has it";
  }
  return out;
}

Finding cache_directory(Runtime& runtime) {
  const StoreStatistics s = runtime.store().statistics();
  Finding out{"kernel cache", State::kOk,
              fmt::format("{}, {} mode, {} kernels, {} bytes", s.path, s.mode, s.kernels, s.bytes)};
  if (s.path.empty()) {
    out.state = State::kBroken;
    out.detail = s.reason.empty() ? "memory only" : s.reason;
    out.cost = "every process compiles its kernels anew";
    out.remedy = "set FFPA_JIT_CACHE_DIR (or --cache-dir) to a writable directory of your own";
  }
  return out;
}

Finding cuda_devices() {
  std::string why_none;
  const std::vector<DeviceInfo> devices = list_cuda_devices(&why_none);
  Finding out{"CUDA devices"};
  if (devices.empty()) {
    out.state = State::kAbsent;
    out.detail = why_none;
    out.cost = "--device cuda does not work here; kernels for GPUs elsewhere can still be compiled";
    out.remedy = "nothing, unless there is an NVIDIA GPU: then install its driver (libcuda.so.1)";
  }
  for (const DeviceInfo& each : devices) {
    out.detail += fmt::format("{}{} {} ({})", out.detail.empty() ? "" : ", ", each.text, each.name,
                              text_of(each.target));
  }
  return out;
}

Finding template_overlay(const Environment& environment) {
  Finding out{"templates", State::kOk, "embedded"};
  if (environment.template_dir.empty()) return out;
  out.detail = fmt::format("overlaid by {}", environment.template_dir.string());
  if (!std::filesystem::is_directory(environment.template_dir)) {
    out.state = State::kBroken;
    out.detail = fmt::format("{} is not a directory", environment.template_dir.string());
    out.cost = "kernels may not be generated";
    out.remedy = "correct or unset FFPA_JIT_TEMPLATE_DIR";
  }
  return out;
}

int doctor(const Session& session) {
  ffpa::Runtime runtime = open_runtime(session);
  Runtime& r = inside(runtime);
  std::vector<Finding> findings{cpu_level(r), attention_on_cpu(runtime)};
  const bool cpu_works = findings.back().state == State::kOk;
  for (const CompilerStatus& compiler : r.compilers().status()) {
    if (!compiler.identity.empty()) {
      findings.push_back({"compiler " + compiler.name, State::kOk, compiler.identity});
    } else {
      findings.push_back({"compiler " + compiler.name, State::kAbsent, compiler.reason,
                          cost_of(compiler.name), compiler.remedy});
    }
  }
  findings.push_back(cuda_devices());
  findings.push_back(cache_directory(r));
  findings.push_back(template_overlay(r.options().environment));
  for (const std::string& warning : r.options().environment.warnings()) {
    findings.push_back({"environment", State::kBroken, warning, "the setting has no effect",
                        "correct the variable's name"});
  }
  if (session.json) {
    Json out = Json::array();
    for (const Finding& each : findings) {
      out.push_back({{"what", each.what},
                     {"state", each.state_text()},
                     {"detail", each.detail},
                     {"cost", each.cost},
                     {"remedy", each.remedy}});
    }
    print_json({{"version", ffpa_jit_version()}, {"ok", cpu_works}, {"findings", out}});
  } else {
    fmt::print("ffpa-jit {}\n", ffpa_jit_version());
    for (const Finding& each : findings) {
      const std::string state = each.state == State::kOk ? good("ok") : bad(each.state_text());
      fmt::print("{}: {}\n    {}\n", each.what, state, each.detail);
      if (!each.cost.empty()) fmt::print("    costs: {}\n", each.cost);
      if (!each.remedy.empty()) fmt::print("    to do: {}\n", each.remedy);
    }
  }
  return cpu_works ? kOk : kUnavailable;
}

}  // namespace

void add_doctor_command(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "doctor",
      "Say what this machine has and lacks (CPU level, compilers, GPU driver, cache directory, "
      "templates), what that\n"
      "costs, and what to install. Exit code 0 when attention works on the CPU.");
  add_common_options(*command, session);
  command->callback([&session] { session.action = [&session] { return doctor(session); }; });
}

}  // namespace ffpa_jit::cli
