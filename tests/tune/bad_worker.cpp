// A worker process whose candidates crash, hang, or answer nonsense, by their block_m: what
// worker_test.cpp talks to.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "tune/scripted_workbench.h"
#include "tune/worker.h"

namespace ffpa_jit {
namespace {

class BadWorkbench final : public Workbench {
 public:
  explicit BadWorkbench(const WorkerJson& task) {
    if (task.contains("refuse")) throw Error(FFPA_JIT_UNSUPPORTED, task["refuse"]);
    for (int i = 1; i <= 16; ++i) good_.scripts[16 * i] = {.us = 100.0 + i};
    good_.scripts[240].us = 50;
  }

  const DeviceInfo& device() const override { return good_.device(); }
  std::vector<Built> build(std::span<const KernelConfig> configs) override {
    for (const KernelConfig& config : configs) {
      if (config.block_m == 32) {  // a compiler that crashes; no sanitizer may make a report of it
        ::signal(SIGSEGV, SIG_DFL);
        ::raise(SIGSEGV);
      }
    }
    return good_.build(configs);
  }
  std::string check(const KernelConfig& config) override {
    if (config.block_m == 48) ::raise(SIGKILL);
    if (config.block_m == 64) ::pause();  // a kernel that hangs
    if (config.block_m == 80) ::_exit(3);
    if (config.block_m == 96) throw Error(FFPA_JIT_DEVICE_ERROR, "an illegal memory access");
    if (config.block_m == 112) ::write(ChildProcess::kChannel, "nonsense\n", 9);
    return good_.check(config);
  }
  double time_us(const KernelConfig& config) override {
    if (config.block_m == 128) ::raise(SIGKILL);
    return good_.time_us(config);
  }

 private:
  ScriptedWorkbench good_;
};

}  // namespace
}  // namespace ffpa_jit

int main(int argc, char** argv) {
  using namespace ffpa_jit;
  if (argc > 1 && std::string_view(argv[1]) == "gone") return 7;
  return serve_worker(ChildProcess::kChannel,
                      [](const WorkerJson& task) { return std::make_unique<BadWorkbench>(task); });
}
