// cp.async, shfl.sync, vote.sync, bar: what lanes and warps hand each other.
#include <cstring>
#include <numeric>

#include "emulator/instructions/program_lists.h"

namespace ffpa_jit::testing {
namespace {

Words counted(size_t count) {
  Words words(count);
  std::iota(words.begin(), words.end(), 0x01020304u);
  return words;
}

// Lane l copies the first l % (bytes + 1) bytes of its source; the rest becomes zero.
Program copy(const std::string& function, uint32_t bytes) {
  Program program;
  program.name = function;
  program.capability = 80;
  const std::string size = std::to_string(bytes), words = std::to_string(bytes / 4);
  program.dynamic_shared_bytes = 32 * bytes;
  program.input = counted(32 * bytes / 4);
  program.expected.assign(program.input.size(), 0);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    std::memcpy(&program.expected[lane * bytes / 4], &program.input[lane * bytes / 4],
                lane % (bytes + 1));
  }
  program.kernel =
      "extern \"C\" __global__ void test_kernel(__grid_constant__ const Params params) {\n"
      "  const unsigned to = dynamic_shared() + threadIdx.x * " +
      size +
      ";\n"
      "  " +
      function + "(to, params.in + threadIdx.x * " + words + ", threadIdx.x % (" + size +
      " + 1));\n"
      "  cp_async_commit_group();\n  cp_async_wait_group<0>();\n"
      "  for (int i = 0; i < " +
      words + "; ++i) params.out[threadIdx.x * " + words +
      " + i] = ld_shared_u32(to + 4 * i);\n}\n";
  return program;
}

// Two groups; the first is waited for alone.
Program copy_groups() {
  Program program;
  program.name = "cp_async_groups";
  program.capability = 80;
  program.dynamic_shared_bytes = 1024;
  program.input = counted(256);
  program.expected = program.input;
  program.kernel =
      R"(extern "C" __global__ void test_kernel(__grid_constant__ const Params params) {
  const unsigned to = dynamic_shared() + threadIdx.x * 16;
  cp_async_cg_16(to, params.in + threadIdx.x * 4, 16);
  cp_async_commit_group();
  cp_async_cg_16(to + 512, params.in + 128 + threadIdx.x * 4, 16);
  cp_async_commit_group();
  cp_async_wait_group<1>();
  for (int i = 0; i < 4; ++i) params.out[threadIdx.x * 4 + i] = ld_shared_u32(to + 4 * i);
  cp_async_wait_all();
  for (int i = 0; i < 4; ++i) params.out[128 + threadIdx.x * 4 + i] = ld_shared_u32(to + 512 + 4 * i);
}
)";
  return program;
}

Program exchange(const std::string& name, const std::string& expression,
                 uint32_t (*expected)(const Words&, uint32_t)) {
  Program program;
  program.name = name;
  program.input = counted(32);
  for (uint32_t lane = 0; lane < 32; ++lane)
    program.expected.push_back(expected(program.input, lane));
  program.kernel =
      "extern \"C\" __global__ void test_kernel(__grid_constant__ const Params params) {\n"
      "  const float value = __builtin_bit_cast(float, params.in[threadIdx.x]);\n"
      "  params.out[threadIdx.x] = " +
      expression + ";\n}\n";
  return program;
}

// Two of four warps meet at a named barrier and hand shared memory on; the others do so at another.
Program named_barriers() {
  Program program;
  program.name = "bar_sync_named";
  program.threads = 128;
  program.dynamic_shared_bytes = 512;
  program.input = counted(128);
  for (uint32_t t = 0; t < 128; ++t) program.expected.push_back(program.input[t ^ 32]);
  program.kernel =
      R"(extern "C" __global__ void test_kernel(__grid_constant__ const Params params) {
  st_shared_u32(dynamic_shared() + 4 * threadIdx.x, params.in[threadIdx.x]);
  bar_sync(1 + threadIdx.x / 64, 64);
  params.out[threadIdx.x] = ld_shared_u32(dynamic_shared() + 4 * (threadIdx.x ^ 32));
}
)";
  return program;
}

// Producer warps arrive and go on, a consumer warp waits.
Program arrive() {
  Program program;
  program.name = "bar_arrive";
  program.threads = 96;
  program.dynamic_shared_bytes = 256;
  program.input = counted(96);
  for (uint32_t t = 0; t < 32; ++t)
    program.expected.push_back(program.input[t] + program.input[32 + t]);
  program.kernel =
      R"(extern "C" __global__ void test_kernel(__grid_constant__ const Params params) {
  if (threadIdx.x < 64) {
    st_shared_u32(dynamic_shared() + 4 * threadIdx.x, params.in[threadIdx.x]);
    bar_arrive(3, 96);
    return;
  }
  bar_sync(3, 96);
  const unsigned lane = threadIdx.x % 32;
  params.out[lane] = ld_shared_u32(dynamic_shared() + 4 * lane) + ld_shared_u32(dynamic_shared() + 128 + 4 * lane);
}
)";
  return program;
}

Program reduction() {
  Program program;
  program.name = "bar_red_or";
  program.threads = 64;
  program.input = counted(64);
  program.expected.assign(64, 2);
  program.kernel =
      R"(extern "C" __global__ void test_kernel(__grid_constant__ const Params params) {
  const unsigned none = bar_red_or(params.in[threadIdx.x] == 0);
  const unsigned one = bar_red_or(threadIdx.x == 37);
  params.out[threadIdx.x] = none + 2 * one;
}
)";
  return program;
}

}  // namespace

std::vector<Program> exchange_programs() {
  return {copy("cp_async_ca_4", 4),
          copy("cp_async_ca_8", 8),
          copy("cp_async_cg_16", 16),
          copy_groups(),
          exchange("shfl_bfly", "__builtin_bit_cast(unsigned, shfl_bfly(value, 5))",
                   [](const Words& in, uint32_t lane) { return in[lane ^ 5]; }),
          exchange("shfl_idx",
                   "__builtin_bit_cast(unsigned, shfl_idx(value, (threadIdx.x * 7 + 3) % 32))",
                   [](const Words& in, uint32_t lane) { return in[(lane * 7 + 3) % 32]; }),
          exchange("vote_any", "vote_any(threadIdx.x == 31) + 2 * vote_any(value != value)",
                   [](const Words&, uint32_t) { return 1u; }),
          named_barriers(),
          arrive(),
          reduction()};
}

}  // namespace ffpa_jit::testing
