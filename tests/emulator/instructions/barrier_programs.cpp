// mbarriers, elect.sync, setmaxnreg, griddepcontrol: what they let through and when.
#include <numeric>

#include "emulator/instructions/program_lists.h"

namespace ffpa_jit::testing {
namespace {

Words counted(size_t count) {
  Words words(count);
  std::iota(words.begin(), words.end(), 0x01020304u);
  return words;
}

Program program(const std::string& name, unsigned threads, const std::string& statements,
                Words input, Words expected) {
  Program program;
  program.name = name;
  program.capability = 90;
  program.threads = threads;
  program.dynamic_shared_bytes = 4096;
  program.input = std::move(input);
  program.expected = std::move(expected);
  program.kernel =
      std::string(kKernelLine) +
      "  const unsigned t = threadIdx.x, barrier = dynamic_shared(), data = barrier + 64;\n"
      "  (void)data;\n" +
      statements + "}\n";
  return program;
}

constexpr char kInit2[] =
    "  if (t == 0) {\n    mbarrier_init(barrier, 32);\n    mbarrier_init(barrier + 8, 32);\n    "
    "fence_mbarrier_init();\n  }\n  bar_sync();\n";

// A producer and a consumer warp hand three words a lane over, one slot, two mbarriers.
Program ring() {
  Words expected;
  const Words input = counted(96);
  for (uint32_t i = 0; i < 3; ++i)
    for (uint32_t lane = 0; lane < 32; ++lane) expected.push_back(input[32 * i + (lane ^ 9)]);
  return program("mbarrier_ring", 64,
                 std::string(kInit2) +
                     R"(  const unsigned full = barrier, empty = barrier + 8, lane = t % 32;
  for (unsigned i = 0; i < 3; ++i) {
    if (t < 32) {
      mbarrier_wait(empty, (i & 1) ^ 1);
      st_shared_u32(data + 4 * lane, params.in[32 * i + lane]);
      mbarrier_arrive(full);
    } else {
      mbarrier_wait(full, i & 1);
      params.out[32 * i + lane] = ld_shared_u32(data + 4 * (lane ^ 9));
      mbarrier_arrive(empty);
    }
  }
)",
                 input, expected);
}

// Which phases count as over, before and after one and two of them.
Program parities() {
  return program("mbarrier_try_wait", 32,
                 R"(  if (t == 0) {
    mbarrier_init(barrier, 1);
    fence_mbarrier_init();
    for (unsigned i = 0; i < 3; ++i) {
      params.out[2 * i] = mbarrier_try_wait(barrier, 0);
      params.out[2 * i + 1] = mbarrier_try_wait(barrier, 1);
      mbarrier_arrive(barrier);
    }
  }
)",
                 counted(1), {0, 1, 1, 0, 0, 1});
}

Program predicated() {
  Words expected = counted(32);
  return program(
      "mbarrier_arrive_if", 64,
      "  if (t == 0) {\n    mbarrier_init(barrier, 3);\n    fence_mbarrier_init();\n  }\n  "
      "bar_sync();\n"
      "  if (t < 32) {\n    st_shared_u32(data + 4 * t, params.in[t]);\n    __syncwarp();\n    "
      "mbarrier_arrive_if(barrier, t % 13 == 0);\n"
      "  } else {\n    mbarrier_wait(barrier, 0);\n    params.out[t - 32] = ld_shared_u32(data + "
      "4 * (t - 32));\n  }\n",
      counted(32), expected);
}

// Bytes that are expected hold a phase up until a copy brings them, before and after the arrival.
Program expected_bytes() {
  return program("mbarrier_arrive_expect_tx", 32,
                 R"(  if (t == 0) {
    mbarrier_init(barrier, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(barrier, 128);
    bulk_load(data, params.in, 64, barrier);
    bulk_load(data + 64, params.in + 16, 64, barrier);
  }
  __syncwarp();
  mbarrier_wait(barrier, 0);
  params.out[t] = ld_shared_u32(data + 4 * (t ^ 1));
)",
                 counted(32), [] {
                   Words words = counted(32);
                   for (size_t i = 0; i < 32; i += 2) std::swap(words[i], words[i + 1]);
                   return words;
                 }());
}

Program elected() {
  return program(
      "elect_sync", 64,
      "  const bool first = elect_sync(), second = elect_sync();\n"
      "  params.out[t] = (unsigned)warp_sum(first ? 1.0f : 0.0f) + (first == second ? 16 : 0);\n",
      counted(1), Words(64, 17));
}

Program registers() {
  Program out = program("setmaxnreg", 256,
                        R"(  if (t < 128) {
    setmaxnreg_dec<40>();
  } else {
    setmaxnreg_inc<216>();
  }
  params.out[t] = params.in[t] + 1;
)",
                        counted(256), [] {
                          Words words = counted(256);
                          for (uint32_t& word : words) ++word;
                          return words;
                        }());
  // 128 each, that one half gives to the other: with all of 65536 there would be none to take.
  out.kernel.replace(out.kernel.find("void"), 4, "__launch_bounds__(256, 2) void");
  return out;
}

}  // namespace

std::vector<Program> barrier_programs() {
  return {
      ring(),
      parities(),
      predicated(),
      expected_bytes(),
      elected(),
      registers(),
      program(
          "griddepcontrol", 32,
          "  griddepcontrol_launch_dependents();\n  griddepcontrol_wait();\n  params.out[t] = t;\n",
          counted(1), [] {
            Words words(32);
            std::iota(words.begin(), words.end(), 0u);
            return words;
          }())};
}

}  // namespace ffpa_jit::testing
