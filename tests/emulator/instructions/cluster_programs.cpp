// Clusters: ranks, each other's shared memory, arrivals and copies there, multicast.
#include <numeric>

#include "emulator/instructions/program_lists.h"

namespace ffpa_jit::testing {
namespace {

Words counted(size_t count) {
  Words words(count);
  std::iota(words.begin(), words.end(), 0x01020304u);
  return words;
}

Program program(const std::string& name, unsigned blocks, unsigned cluster,
                const std::string& statements, Words input, Words expected) {
  Program program;
  program.name = name;
  program.capability = 90;
  program.threads = 32;
  program.blocks = blocks;
  program.cluster = cluster;
  program.dynamic_shared_bytes = 4096;
  program.input = std::move(input);
  program.expected = std::move(expected);
  program.kernel =
      std::string(kKernelLine) +
      "  const unsigned t = threadIdx.x, rank = cluster_ctarank(), barrier = dynamic_shared(), "
      "data = "
      "barrier + 1024, all = 32 * blockIdx.x + t;\n  (void)rank; (void)data; (void)all;\n" +
      statements + "}\n";
  return program;
}

constexpr char kSync[] = "  cluster_arrive();\n  cluster_wait();\n";
constexpr char kInit[] =
    "  if (t == 0) {\n    mbarrier_init(barrier, 1);\n    fence_mbarrier_init();\n  }\n  "
    "cluster_arrive();\n  "
    "cluster_wait();\n";

Program ranks() {
  Words expected;
  for (uint32_t block = 0; block < 8; ++block)
    for (uint32_t t = 0; t < 32; ++t) expected.push_back(10 * (block % 4) + 1);
  return program("cluster_ctarank", 8, 4, "  params.out[all] = 10 * rank + 1;\n", counted(1),
                 expected);
}

// Every block reads what the next has written, and writes to the one before.
Program neighbours() {
  Words expected(2 * 128);
  const Words input = counted(128);
  for (uint32_t block = 0; block < 4; ++block) {
    for (uint32_t t = 0; t < 32; ++t) {
      const uint32_t cluster = block / 2 * 2, other = cluster + (block + 1) % 2;
      expected[32 * block + t] = input[32 * other + t];
      expected[128 + 32 * block + t] = input[32 * other + t] + 1;
    }
  }
  return program("shared_cluster", 4, 2,
                 "  st_shared_u32(data + 4 * t, params.in[all]);\n" + std::string(kSync) +
                     R"(  const unsigned there = mapa(data + 4 * t, rank ^ 1);
  params.out[all] = ld_shared_cluster_u32(there);
  st_shared_cluster_u32(there + 128, params.in[all] + 1);
)" + kSync + "  params.out[128 + all] = ld_shared_u32(data + 128 + 4 * t);\n",
                 input, expected);
}

Program vectors() {
  Words expected(256);
  const Words input = counted(256);
  for (uint32_t i = 0; i < 256; ++i) expected[i] = input[i ^ 128];
  return program("st_shared_cluster_v4", 2, 2,
                 std::string(kSync) +
                     R"(  const unsigned* in = params.in + 4 * all;
  st_shared_cluster_v4(mapa(data + 16 * t, rank ^ 1), in[0], in[1], in[2], in[3]);
)" + kSync +
                     "  for (unsigned i = 0; i < 4; ++i) params.out[4 * all + i] = "
                     "ld_shared_u32(data + 16 * t + 4 * i);\n",
                 input, expected);
}

// An arrival at another block's mbarrier releases what was written there.
Program remote_arrival() {
  Words expected(64);
  const Words input = counted(64);
  for (uint32_t i = 0; i < 64; ++i) expected[i] = input[i ^ 32];
  return program(
      "mbarrier_arrive_cluster", 2, 2,
      "  if (t == 0) {\n    mbarrier_init(barrier, 32);\n    fence_mbarrier_init();\n  }\n" +
          std::string(kSync) +
          R"(  st_shared_cluster_f32(mapa(data + 4 * t, rank ^ 1), __builtin_bit_cast(float, params.in[all]));
  mbarrier_arrive_cluster(mapa(barrier, rank ^ 1));
  mbarrier_wait(barrier, 0);
  params.out[all] = ld_shared_u32(data + 4 * t);
)" + kSync,
      input, expected);
}

Program asynchronous_stores() {
  Words expected(64);
  const Words input = counted(64);
  for (uint32_t block = 0; block < 2; ++block)
    for (uint32_t t = 0; t < 32; ++t) expected[32 * block + t] = input[32 * (block ^ 1) + t];
  return program("st_async", 2, 2,
                 std::string(kInit) +
                     R"(  if (t == 0) mbarrier_arrive_expect_tx(barrier, 128);
  const unsigned there = mapa(data, rank ^ 1), counted = mapa(barrier, rank ^ 1);
  if (t < 16) st_async_u32(there + 4 * t, params.in[all], counted);
  const unsigned* in = params.in + 32 * rank + 4 * t;
  if (t >= 4 && t < 8) st_async_v4(there + 16 * t, in[0], in[1], in[2], in[3], counted);
  mbarrier_wait(barrier, 0);
  params.out[all] = ld_shared_u32(data + 4 * t);
)" + kSync,
                 input, expected);
}

Program sent() {
  Words expected(64);
  const Words input = counted(64);
  for (uint32_t i = 0; i < 64; ++i) expected[i] = input[i ^ 32];
  return program("bulk_send", 2, 2,
                 std::string(kInit) +
                     R"(  st_shared_u32(data + 4 * t, params.in[all]);
  fence_proxy_async_shared();
  __syncwarp();
  if (t == 0) {
    mbarrier_arrive_expect_tx(barrier, 128);
    bulk_send(mapa(data + 256, rank ^ 1), data, 128, mapa(barrier, rank ^ 1));
  }
  mbarrier_wait(barrier, 0);
  params.out[all] = ld_shared_u32(data + 256 + 4 * t);
)" + kSync,
                 input, expected);
}

// Each block loads half of a tile into both.
Program multicast(unsigned rank) {
  const bool five = rank == 5;
  Words input(2 * 8 * 32);
  std::iota(input.begin(), input.end(), 0u);
  Words expected;
  for (uint32_t block = 0; block < 2; ++block) {
    for (uint32_t row = 0; row < 16; ++row)
      for (uint32_t chunk = 0; chunk < 8; ++chunk)
        for (uint32_t i = 0; i < 4; ++i)
          expected.push_back(input[32 * row + 4 * (chunk ^ (row % 8)) + i]);
  }
  Program out = program(
      five ? "tma_load_5d_multicast" : "tma_load_4d_multicast", 2, 2,
      std::string(kInit) + "  if (t == 0) {\n    mbarrier_arrive_expect_tx(barrier, 2048);\n    " +
          (five ? "tma_load_5d_multicast(data + 1024 * rank, params.maps[0], barrier, 3, 0, 8 * "
                  "(int)rank, 0, 0, 0);\n"
                : "tma_load_4d_multicast(data + 1024 * rank, params.maps[0], barrier, 3, 0, 8 * "
                  "(int)rank, 0, 0);\n") +
          "  }\n  mbarrier_wait(barrier, 0);\n  for (unsigned i = t; i < 512; i += 32) "
          "params.out[512 * rank + i] = ld_shared_u32(data + 4 * i);\n" +
          kSync,
      input, expected);
  TensorMapSpec spec;
  spec.rank = static_cast<uint8_t>(rank);
  spec.element = TensorElement::kFp32;
  spec.sizes = {32, 16, 1, 1, 1};
  spec.strides = {128, 2048, 2048, 2048};
  spec.box = {32, 8, 1, 1, 1};
  if (!five) spec.sizes[4] = spec.box[4] = spec.strides[3] = 0;
  out.maps = {{spec, false, 0}};
  return out;
}

}  // namespace

std::vector<Program> cluster_programs() {
  return {ranks(), neighbours(), vectors(),   remote_arrival(), asynchronous_stores(),
          sent(),  multicast(4), multicast(5)};
}

}  // namespace ffpa_jit::testing
