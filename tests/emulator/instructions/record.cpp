// record_instructions FILE.json [ORDINAL]: runs the programs of programs() on a CUDA device and
// writes their inputs and outputs.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "emulator/instructions/program.h"

int main(int argc, char** argv) {
  using namespace ffpa_jit;
  using namespace ffpa_jit::testing;
  if (argc < 2) {
    std::fprintf(stderr, "usage: record_instructions FILE.json [ORDINAL]\n");
    return 2;
  }
  int wrong = 0;
  try {
    const auto device = open_cuda_device(argc > 2 ? std::atoi(argv[2]) : 0);
    nlohmann::ordered_json recorded{{"device", device->info().name},
                                    {"target", text_of(device->info().target)}};
    for (const Program& program : programs()) {
      if (device->info().target.compute_capability() < program.capability) continue;
      const Words out = run(program, *device);
      const std::string difference = disagreement(program, out, program.expected);
      std::printf("%-28s %s\n", program.name.c_str(),
                  difference.empty() ? "as the manual says" : difference.c_str());
      wrong += !difference.empty();
      recorded["programs"][program.name] = {{"input", program.input}, {"output", out}};
    }
    std::ofstream(argv[1]) << recorded.dump() << '\n';
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return wrong != 0;
}
