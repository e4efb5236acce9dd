// Programs of one instruction each: a kernel for one warp (or block), its input, and what must come
// out by the PTX ISA's words. The same programs run on the emulator (instructions_test.cpp) and on
// a GPU (record.cpp), through the same Device interface.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "device/device.h"

namespace ffpa_jit::testing {

using Words = std::vector<uint32_t>;

// How close a result must be.
enum class Agreement {
  kBits,  // the same words
  kFp32,  // fp32 words, sums of products: within 2^-18 of the largest magnitude of the row's terms
  kFp16x2,  // pairs of fp16: within 2^-9 of that
  kUlps,    // fp32 words, within 2 units in the last place
};

// A tensor map over the program's input or output; `spec` without an address.
struct ProgramMap {
  TensorMapSpec spec;
  bool of_output = false;
  uint64_t offset = 0;  // of the tensor, bytes
};

struct Program {
  std::string name;
  int capability = 75;  // needs this one or later
  // Body of a template with Params { const unsigned* in; unsigned* out; TensorMap maps[]; }
  std::string kernel;
  unsigned threads = 32, blocks = 1, cluster = 1;
  uint32_t dynamic_shared_bytes = 0;
  Words input;
  Words expected;
  std::vector<ProgramMap> maps;
  Agreement agreement = Agreement::kBits;
  // kFp32, kFp16x2: what the tolerance is relative to.
  double magnitude = 1;
};

// What gtest prints of a parameter.
inline void PrintTo(const Program& program, std::ostream* out) { *out << program.name; }

// Every program, the same each time.
std::vector<Program> programs();

// What all kernels begin with.
inline constexpr char kKernelLine[] =
    "extern \"C\" __global__ void test_kernel(__grid_constant__ const Params params) {\n";

// Compiles and runs one on a device. Throws Error.
Words run(const Program& program, Device& device);
KernelBinary compile(const Program& program, const Target& target);
Words run(const Program& program, Device& device, const LoadedKernel& kernel);

// What a recording holds of many words: the words, or only their digest where they are many and
// must be the same to the bit.
nlohmann::ordered_json recorded(const Words& words, bool exact);
bool is_recorded(const nlohmann::ordered_json& record, const Words& words);

// Empty when `out` agrees with `expected`; else the first difference.
std::string disagreement(const Program& program, const Words& out, const Words& expected);

}  // namespace ffpa_jit::testing
