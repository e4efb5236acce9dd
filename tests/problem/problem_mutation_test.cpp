// The fuzzer's property (tests/fuzz/fuzz_problem.cpp) over a bounded number of mutations of valid
// texts, so that every test run has it, libFuzzer or not. A violation aborts.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

#include "problem/random_problem.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern int64_t fuzz_problem_accepted;

namespace ffpa_jit {
namespace {

void try_one(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

TEST(ProblemMutation, ParsersAcceptOnlyTheirOwnTexts) {
  std::mt19937_64 random(20);
  const std::string seeds[] = {
      "block_m=64 block_n=32 block_d=16 num_stages=3 num_warps=8 cluster=2 split_kv=4",
      "registers=96 spill_bytes=0 local_bytes=8 static_shared_bytes=1024 code_bytes=9",
      "emu:sm_120a", "cpu:x86-64-v4-amx", "11qk"};
  const std::string pieces[] = {" ", "=",  "d=", "lse", "causal", "window=l",
                                "0", "-1", ":",  "1",   "bhqk",   "\n"};
  const int64_t before = fuzz_problem_accepted;
  constexpr int kRounds = 40'000;
  for (int round = 0; round < kRounds; ++round) {
    std::string text =
        round % 4 == 0 ? seeds[random() % std::size(seeds)] : text_of(random_problem(random));
    for (uint64_t edits = random() % 3; edits > 0; --edits) {
      const size_t at = random() % (text.size() + 1);
      switch (random() % 5) {
        case 0:
          text.erase(at, 1 + random() % 4);
          break;
        case 1:
          text.insert(at, pieces[random() % std::size(pieces)]);
          break;
        case 2:
          text.insert(at, 1, static_cast<char>(random()));
          break;
        case 3:
          if (at < text.size()) text[at] = static_cast<char>(random());
          break;
        case 4:
          text.resize(at);
          break;
      }
    }
    try_one(text);
  }
  const int64_t accepted = fuzz_problem_accepted - before;
  EXPECT_GT(accepted, kRounds / 4);      // about a third of the texts is not edited at all
  EXPECT_LT(accepted, kRounds * 3 / 4);  // most edits break a text
}

TEST(ProblemMutation, EverySingleByteChangeOfOneText) {
  const std::string text =
      "forward fp16 d=8 dv=16 group=2 layout=bnhd causal window=l mask=1h1k bias=fp16:b1q1 dropout "
      "lse";
  for (size_t at = 0; at < text.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[at] = static_cast<char>(byte);
      try_one(changed);
    }
    try_one(text.substr(0, at));
    try_one(text.substr(at));
  }
}

}  // namespace
}  // namespace ffpa_jit
