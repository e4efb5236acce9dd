// Kernels with a bug planted in them, and what the emulator reports. Used by the tests of reports.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "device/emulator/options.h"

namespace ffpa_jit::testing {

struct Bug {
  std::string name;
  std::string statements;          // of the kernel; the line with BUG is where it must be reported
  std::vector<std::string> words;  // that the report holds
  unsigned threads = 64;
  uint32_t dynamic_shared_bytes = 1024;
  int capability = 90;
  unsigned cluster = 1;          // one cluster of so many blocks
  bool found_when_early = true;  // where copies that land at once hide it: false
  unsigned blocks = 0;           // of the grid; 0: those of one cluster
};

// What gtest prints of a parameter.
inline void PrintTo(const Bug& bug, std::ostream* out) { *out << bug.name; }

struct NamedSchedule {
  const char* name;
  emulator::Schedule schedule;
};
inline constexpr NamedSchedule kSchedules[] = {{"late", {emulator::Order::kLate, 0}},
                                               {"early", {emulator::Order::kEarly, 0}},
                                               {"shuffle:7", {emulator::Order::kShuffle, 7}}};

// The reports by schedule, in the order of kSchedules; "" where the kernel ran through. Its
// parameters:
//   in: 256 words, read only; out: 256 words
//   maps[0], maps[1]: 8 rows of 64 bf16, under the 128-byte swizzle, of in (rank 2) and of out
//   (rank 4) maps[2]: 16 rows, which is more than in has; maps[3]: none
// Throws Error NO_COMPILER.
std::vector<std::string> reports_of(const Bug& bug);

// Expect that every schedule's report holds the bug's words and place; that there is none. Skip
// without a compiler.
void expect_reported(const Bug& bug);
void expect_clean(const Bug& bug);

}  // namespace ffpa_jit::testing
