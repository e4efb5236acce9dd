// record_instructions FILE.json [ORDINAL [CAPABILITY]]: runs the programs of programs(), or those
// of them that need CAPABILITY or later, on a CUDA device and writes their inputs and outputs.
// Compiles on all processors first.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "emulator/instructions/program.h"

namespace {

using namespace ffpa_jit;
using namespace ffpa_jit::testing;

struct Compiled {
  KernelBinary binary;
  std::string failure;
};

std::vector<Compiled> compile_all(const std::vector<Program>& programs, const Target& target) {
  std::vector<Compiled> compiled(programs.size());
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (size_t at = next++; at < programs.size(); at = next++) {
        try {
          compiled[at].binary = compile(programs[at], target);
        } catch (const Error& error) {
          compiled[at].failure = error.what();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return compiled;
}

// Ends the process when a program has not come back in time: the others' records are kept.
class Watchdog {
 public:
  explicit Watchdog(const std::string& file) : file_(file), thread_([this] { watch(); }) {}
  ~Watchdog() {
    begin("");
    done_ = true;
    thread_.join();
  }
  void begin(const std::string& program) {
    const std::lock_guard lock(mutex_);
    program_ = program;
    since_ = std::chrono::steady_clock::now();
  }
  void write(const nlohmann::ordered_json& out) { std::ofstream(file_) << out.dump() << '\n'; }

 private:
  void watch() {
    while (!done_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const std::lock_guard lock(mutex_);
      if (program_.empty() || std::chrono::steady_clock::now() - since_ < std::chrono::seconds(2))
        continue;
      std::printf("%-40s does not end\n", program_.c_str());
      std::fflush(stdout);
      std::_Exit(3);
    }
  }

  std::string file_, program_;
  std::chrono::steady_clock::time_point since_;
  std::mutex mutex_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: record_instructions FILE.json [ORDINAL [CAPABILITY]]\n");
    return 2;
  }
  int wrong = 0;
  try {
    const auto device = open_cuda_device(argc > 2 ? std::atoi(argv[2]) : 0);
    const int least = argc > 3 ? std::atoi(argv[3]) : 0;
    const Target target = device->info().target;
    nlohmann::ordered_json out{{"device", device->info().name}, {"target", text_of(target)}};
    std::vector<Program> chosen;
    for (Program& program : programs()) {
      if (program.capability >= least && program.capability <= target.compute_capability())
        chosen.push_back(std::move(program));
    }
    const std::vector<Compiled> compiled = compile_all(chosen, target);
    Watchdog watchdog(argv[1]);
    for (size_t i = 0; i < chosen.size(); ++i) {
      const Program& program = chosen[i];
      std::string difference = compiled[i].failure;
      if (difference.empty()) {
        watchdog.begin(program.name);
        try {
          const Words words = run(program, *device, *device->load(compiled[i].binary));
          difference = disagreement(program, words, program.expected);
          const bool exact = program.agreement == Agreement::kBits;
          out["programs"][program.name] = {{"input", recorded(program.input, true)},
                                           {"output", recorded(words, exact)}};
        } catch (const Error& error) {
          difference = error.what();
        }
        watchdog.begin("");
        watchdog.write(out);
      }
      std::printf("%-40s %s\n", program.name.c_str(),
                  difference.empty() ? "as the manual says" : difference.c_str());
      std::fflush(stdout);
      wrong += !difference.empty();
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return wrong != 0;
}
