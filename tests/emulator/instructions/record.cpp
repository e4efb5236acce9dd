// record_instructions FILE.json [ORDINAL [CAPABILITY]]: runs the programs of programs(), or those
// of them that need CAPABILITY or later, on a CUDA device and writes their inputs and outputs.
//
// Everything is compiled first, on all processors. A child process runs the programs; where one
// fails, or does not end, its process is of no more use, and another goes on with the next.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "emulator/instructions/program.h"

namespace {

using namespace ffpa_jit;
using namespace ffpa_jit::testing;

constexpr unsigned kSecondsPerProgram = 3;

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

void print(const Program& program, const std::string& text) {
  std::printf("%-40s %s\n", program.name.c_str(), text.c_str());
  std::fflush(stdout);
}

// In a child process: programs from `first` on, a line of JSON for each to `file`. Returns when all
// are done.
int run_from(size_t first, const std::vector<Program>& programs,
             const std::vector<Compiled>& compiled, int ordinal, const std::string& file) {
  std::ofstream out(file, std::ios::app);
  size_t at = first;
  try {
    ::alarm(3 * kSecondsPerProgram);
    const auto device = open_cuda_device(ordinal);
    for (; at < programs.size(); ++at) {
      const Program& program = programs[at];
      nlohmann::ordered_json line{
          {"index", at}, {"device", device->info().name}, {"name", program.name}};
      if (compiled[at].failure.empty()) {
        ::alarm(kSecondsPerProgram);
        const Words words = run(program, *device, *device->load(compiled[at].binary));
        const std::string difference = disagreement(program, words, program.expected);
        print(program, difference.empty() ? "as the manual says" : difference);
        line["record"] = {{"input", recorded(program.input, true)},
                          {"output", recorded(words, program.agreement == Agreement::kBits)}};
      } else {
        print(program, compiled[at].failure);
      }
      out << line.dump() << std::endl;
    }
  } catch (const Error& error) {
    print(programs[at], std::string(error.what()).substr(0, 160));
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: record_instructions FILE.json [ORDINAL [CAPABILITY [NAME]]]\n");
    return 2;
  }
  const std::string file = argv[1], lines = file + ".lines";
  const int ordinal = argc > 2 ? std::atoi(argv[2]) : 0, least = argc > 3 ? std::atoi(argv[3]) : 0;
  // The driver must not be in use in this process: children could not use it.
  const Target target{TargetKind::kCuda, "sm_90a"};
  std::vector<Program> chosen;
  for (Program& program : programs()) {
    if (program.capability >= least &&
        program.name.find(argc > 4 ? argv[4] : "") != std::string::npos)
      chosen.push_back(std::move(program));
  }
  const std::vector<Compiled> compiled = compile_all(chosen, target);
  std::remove(lines.c_str());
  nlohmann::ordered_json out;
  size_t done = 0, failed = 0;
  while (done < chosen.size()) {
    const pid_t child = ::fork();
    if (child < 0) return 1;
    if (child == 0) std::_Exit(run_from(done, chosen, compiled, ordinal, lines));
    int status = 0;
    ::waitpid(child, &status, 0);
    size_t next = done;
    std::ifstream in(lines);
    for (std::string line; std::getline(in, line);) {
      const auto entry = nlohmann::ordered_json::parse(line);
      next = std::max(next, entry.at("index").get<size_t>() + 1);
      out["device"] = entry.at("device");
      out["target"] = text_of(target);
      if (entry.contains("record"))
        out["programs"][entry.at("name").get<std::string>()] = entry.at("record");
    }
    if (status != 0) {
      if (WIFSIGNALED(status)) print(chosen[next], "does not end");
      ++failed;
      ++next;
    }
    done = next;
    if (failed > 12) break;
  }
  std::remove(lines.c_str());
  std::ofstream(file) << out.dump() << '\n';
  return failed != 0;
}
