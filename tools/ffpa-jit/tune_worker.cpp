// ffpa-jit tune-worker: the child process of `ffpa-jit tune`, not for hands: answers requests on a
// channel it inherits.
#include <signal.h>
#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "api/attention_args.h"
#include "ffpa-jit/session.h"
#include "ffpa-jit/synthetic_inputs.h"
#include "runtime/local_workbench.h"
#include "tune/worker.h"

namespace ffpa_jit::cli {
namespace {

struct WorkerOptions {
  std::string device;
  int threads = 0;
  int jobs = 0;
};

// A LocalWorkbench and the tensors it runs on.
class SyntheticWorkbench final : public Workbench {
 public:
  SyntheticWorkbench(Runtime& runtime, const RecordedProblem& problem, const KernelFamily& family,
                     const DeviceRef& ref, int jobs)
      : inputs_(problem, ref, runtime.devices().open(ref)),
        bench_(runtime, api::checked_call(inputs_.args(), api::Purpose::kLaunch), family,
               {.jobs = jobs}) {}

  const DeviceInfo& device() const override { return bench_.device(); }
  std::vector<Built> build(std::span<const KernelConfig> configs) override {
    return bench_.build(configs);
  }
  std::string check(const KernelConfig& config) override { return bench_.check(config); }
  double time_us(const KernelConfig& config) override { return bench_.time_us(config); }

 private:
  SyntheticInputs inputs_;  // before bench_, which runs on them
  LocalWorkbench bench_;
};

int work(const Session& session, const WorkerOptions& options) {
  // Whoever starts a worker may be killed: the worker then has nobody to answer.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const DeviceRef ref = parse_device(options.device);
  ffpa::Runtime runtime = open_runtime(session, {options.threads, FFPA_JIT_POLICY_DEFAULT});
  return serve_worker(
      ChildProcess::kChannel, [&](const WorkerJson& task) -> std::unique_ptr<Workbench> {
        const RecordedProblem problem = parse_record(task.at("record"), "the task");
        const std::string name = task.at("family");
        for (const KernelFamily* family : kernel_families()) {
          if (family->name() != name) continue;
          if (family->refuses(problem.problem, inside(runtime).devices().open(ref)->info().target))
            continue;
          return std::make_unique<SyntheticWorkbench>(inside(runtime), problem, *family, ref,
                                                      options.jobs);
        }
        throw_error(FFPA_JIT_UNSUPPORTED, "no family '{}' serves '{}' on {}", name,
                    text_of(problem.problem), options.device);
      });
}

}  // namespace

void add_tune_worker_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<WorkerOptions>();
  CLI::App* command = app.add_subcommand("tune-worker", "The child process of `tune`")->group("");
  command->add_option("--device", options->device)->required();
  command->add_option("--threads", options->threads);
  command->add_option("--jobs", options->jobs);
  add_common_options(*command, session);
  command->callback([options, &session] {
    session.action = [options, &session] { return work(session, *options); };
  });
}

}  // namespace ffpa_jit::cli
