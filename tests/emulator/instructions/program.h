// Programs of one instruction each: a kernel for one warp (or block), its input, and what must come
// out by the PTX ISA's words. The same programs run on the emulator (instructions_test.cpp) and on
// a GPU (record.cpp), through the same Device interface.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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

struct Program {
  std::string name;
  int capability = 75;  // needs this one or later
  std::string kernel;   // body of a template with Params { const unsigned* in; unsigned* out; }
  unsigned threads = 32;
  uint32_t dynamic_shared_bytes = 0;
  Words input;
  Words expected;
  Agreement agreement = Agreement::kBits;
  // kFp32, kFp16x2: what the tolerance is relative to.
  double magnitude = 1;
};

// Every program, the same each time.
std::vector<Program> programs();

// Compiles and runs one on a device. Throws Error.
Words run(const Program& program, Device& device);

// Empty when `out` agrees with `expected`; else the first difference.
std::string disagreement(const Program& program, const Words& out, const Words& expected);

}  // namespace ffpa_jit::testing
