// Each class of bug, planted once in a small kernel, must be reported by name and place, whatever
// the schedule; and correct programs that look like one must not be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "device/emulator/emulated_device.h"
#include "emulator/kernel_text.h"
#include "emulator/planted_bug.h"

namespace ffpa_jit::testing {
namespace {

using ::testing::HasSubstr;

class Report : public ::testing::TestWithParam<Bug> {};
TEST_P(Report, NamesTheBugAndItsPlace) { expect_reported(GetParam()); }

class Clean : public ::testing::TestWithParam<Bug> {};
TEST_P(Clean, IsNotReported) { expect_clean(GetParam()); }

const std::vector<Bug> kBugs = {
    {"GlobalReadPastTheEnd",
     "  if (t == 56) params.out[t] = params.in[t + 200];  // BUG\n",
     {"out of bounds: read of 4 bytes of global memory", "past the end of in (1024 bytes)",
      "warp 1 lane 24 (thread 56)"}},
    {"GlobalReadBefore",
     "  if (t == 0) params.out[t] = params.in[(int)t - 3];  // BUG\n",
     {"12 bytes before in"}},
    {"WriteToInput",
     "  ((unsigned*)params.in)[t] = t;  // BUG\n",
     {"out of bounds: write of 4 bytes", "in, which the kernel may only read"}},
    {"WildPointer",
     "  params.out[t] = *(const unsigned*)4096;  // BUG\n",
     {"out of bounds: read", "none of the launch's tensors"}},
    {"GlobalMisaligned",
     "  params.out[t] = ld_global_nc_v4(params.in + 1).word[0];  // BUG\n",
     {"misaligned: read of 16 bytes"}},
    {"SharedPastTheEnd",
     "  if (t == 36) st_shared_u32(word_at(t + 220), t);  // BUG\n",
     {"out of bounds", "shared memory offset 1024", "1024 bytes of dynamic", "lane 4 (thread 36)"}},
    {"SharedByPointer",
     "  __shared__ unsigned tile[64];\n  tile[t] = t;\n  bar_sync();\n  params.out[t] = "
     "tile[(int)t - 80];  // BUG\n",
     {"out of bounds: read of 4 bytes at shared memory offset"}},
    {"SharedMisaligned",
     "  st_shared_u32(dynamic_shared() + 4 * t + 2, t);  // BUG\n",
     {"misaligned", "not a multiple of 4"}},
    {"LdmatrixMisaligned",
     "  for (unsigned i = t; i < 256; i += 64) st_shared_u32(word_at(i), i);\n  bar_sync();\n  "
     "unsigned f[4];\n"
     "  ldmatrix_x4(f, dynamic_shared() + lane * 16 + 8);  // BUG\n  params.out[t] = f[0];\n",
     {"misaligned: ldmatrix of 16 bytes"}},
    {"NeverWritten",
     "  __shared__ unsigned tile[64];\n  if (t != 5) tile[t] = t;\n  bar_sync();\n  params.out[t] "
     "= tile[t];  // BUG\n",
     {"uninitialised: read of 4 bytes", "[test_kernel::tile + 20]", "lane 5 (thread 5)"}},
    {"NeverWrittenHalf",
     "  st_shared_u16(word_at(t), 1);\n  bar_sync();\n  if (t == 0) params.out[t] = "
     "ld_shared_u32(word_at(t));  // BUG\n",
     {"uninitialised", "at offset 2,"}},
    {"WriteThenReadAcrossWarps",
     "  st_shared_u32(word_at(t), t);\n  params.out[t] = ld_shared_u32(word_at(t ^ 32));  // BUG\n",
     {""}},
    {"ReadBeforeBarrier",
     "  st_shared_u32(word_at(t), t);\n  bar_sync();\n  if (t >= 32) st_shared_u32(word_at(t), 2 * "
     "t);\n"
     "  if (t < 32) bar_sync(1, 32);\n  params.out[t] = 0;\n"
     "  if (t < 32) params.out[t] = ld_shared_u32(word_at(t + 32));  // BUG\n",
     {"race: "}},
    {"LanesWithoutSyncwarp",
     "  st_shared_u32(word_at(t), t);\n  st_shared_u32(word_at(t ^ 1), t);  // BUG\n",
     {"race: write of 4 bytes", "no barrier", "written by warp 0 lane"}},
    {"CopyNotWaitedFor",
     "  cp_async_cg_16(dynamic_shared() + 16 * t, params.in + 4 * t, 16);\n  "
     "cp_async_commit_group();\n"
     "  params.out[t] = ld_shared_u32(dynamic_shared() + 16 * t);  // BUG\n",
     {"missing wait", "cp.async by warp", "bug.cu:3 "}},
    {"WaitForTheWrongGroup",
     "  cp_async_ca_8(dynamic_shared() + 8 * t, params.in + 2 * t, 8);\n  "
     "cp_async_commit_group();\n"
     "  cp_async_ca_8(dynamic_shared() + 512 + 8 * t, params.in + 128 + 2 * t, 8);\n  "
     "cp_async_commit_group();\n  cp_async_wait_group<1>();\n"
     "  bar_sync();\n  params.out[t] = ld_shared_u32(dynamic_shared() + 512 + 8 * t);  // BUG\n",
     {"missing wait"}},
    {"WaitWithoutBarrier",
     "  cp_async_cg_16(dynamic_shared() + 16 * t, params.in + 4 * t, 16);\n  "
     "cp_async_commit_group();\n  cp_async_wait_group<0>();\n"
     "  bar_sync(1 + t / 32, 32);\n"
     "  params.out[t] = ld_shared_u32(dynamic_shared() + 16 * (t ^ 32));  // BUG\n",
     {""}},
    {"CopyOverData",
     "  st_shared_u32(dynamic_shared() + 16 * t, 1);\n  bar_sync();\n  params.out[t] = "
     "ld_shared_u32(dynamic_shared() + 16 * (t ^ 1));\n  bar_sync(1 + t / 32, 32);\n"
     "  params.out[t] = ld_shared_u32(dynamic_shared() + 16 * (t ^ 32));\n  bar_sync(1 + t / 32, "
     "32);\n"
     "  cp_async_cg_16(dynamic_shared() + 16 * (63 - t), params.in, 16);  // BUG\n  "
     "cp_async_wait_all();\n",
     {"race: ", "by warp"}},
    {"DivergentBarrier",
     "  if (lane < 16) bar_sync(); else\n  bar_sync();  // BUG\n",
     {"divergent bar.sync 0"}},
    {"DivergentCollectives",
     "  float x = 0;\n  if (lane < 16) x = shfl_idx(1.0f, 0);\n  else x = vote_any(true);  // "
     "BUG\n  params.out[t] = x != 0;\n",
     {"divergent"},
     32},
    {"DivergentMma",
     "  float d[4] = {}; unsigned a[4] = {}; \n  if (lane < 16) mma_m16n8k16_f32_bf16(d, a, 0, "
     "0);\n  else mma_m16n8k16_f32_bf16(d, a, 1, 0);  // BUG\n"
     "  params.out[t] = d[0] != 0;\n",
     {"divergent mma.sync"},
     32},
    {"BarrierThatSomeMiss",
     "  if (t < 32) return;\n  bar_sync(2, 64);  // BUG\n",
     {"deadlock: 32 threads wait at bar.sync 2 (32 of 64 threads have come)", "warp 1",
      "32 threads have finished"}},
    {"LanesLeave",
     "  if (lane < 3) return;\n  params.out[t] = shfl_idx(1.0f, 2) != 0;  // BUG\n",
     {"shfl.sync: lane 3 reads from lane 2, which does not take part"}},
    {"LanesLeaveAnMma",
     "  if (lane < 3) return;\n  float d[4] = {};\n  const unsigned a[4] = {};\n  "
     "mma_m16n8k16_f32_bf16(d, a, 0, 0);  // BUG\n  params.out[t] = d[0] != 0;\n",
     {"deadlock: 58 threads wait at mma.sync", "warp 0 lanes 3-31, warp 1 lanes 3-31",
      "6 threads have finished"}},
    {"CrossedBarriers",
     "  bar_sync(1 + t / 32, 64);  // BUG\n",
     {"deadlock: 32 threads wait at bar.sync 1", "32 threads wait at bar.sync 2"}},
    {"BarrierCounts", "  if (t < 32) bar_sync(1, 64); else\n  bar_sync(1, 32);  // BUG\n", {""}},
    {"BarrierNumber",
     "  bar_sync(16, 64);  // BUG\n",
     {"barrier 16; a block has barriers 0 to 15"}},
    {"BarrierOfHalfAWarp",
     "  bar_sync(1, 48);  // BUG\n",
     {"bar.sync 1 for 48 threads", "multiple of 32"}},
};

INSTANTIATE_TEST_SUITE_P(All, Report, ::testing::ValuesIn(kBugs),
                         [](const auto& info) { return info.param.name; });

const std::vector<Bug> kCorrect = {
    {"NeighboursInOneWord",
     "  st_shared_u16(dynamic_shared() + 2 * t, t);\n  bar_sync();\n  params.out[t] = "
     "ld_shared_u16(dynamic_shared() + 2 * (t ^ 33));\n",
     {}},
    {"BarrierBetween",
     "  for (unsigned i = 0; i < 3; ++i) {\n    st_shared_u32(word_at(t), t + i);\n    "
     "bar_sync();\n"
     "    params.out[t] = ld_shared_u32(word_at(63 - t));\n    bar_sync();\n  }\n",
     {}},
    {"SyncwarpBetween",
     "  st_shared_u32(word_at(t), t);\n  __syncwarp();\n  params.out[t] = ld_shared_u32(word_at(t "
     "^ 1));\n  __syncwarp();\n"
     "  st_shared_u32(word_at(t ^ 2), t);\n",
     {}},
    {"DoubleBuffer",
     "  for (unsigned i = 0; i < 4; ++i) {\n"
     "    cp_async_ca_4(dynamic_shared() + i % 2 * 256 + 4 * t, params.in + t, 4);\n    "
     "cp_async_commit_group();\n"
     "    cp_async_wait_group<0>();\n    bar_sync();\n    params.out[t] = "
     "ld_shared_u32(dynamic_shared() + i % 2 * 256 + 4 * (t ^ 32));\n  }\n",
     {}},
    {"ThreadsThatLeaveEarly",
     "  if (t >= 48) return;\n  bar_sync();\n  __syncwarp();\n  params.out[t] = t;\n",
     {}},
    {"LanesThatLeaveBeforeAShuffle",
     "  if (lane >= 7) return;\n  params.out[t] = shfl_idx(1.0f, 2) + vote_any(lane == 6);\n",
     {}},
    {"LanesThatLeaveDuringAShuffle",
     "  if (lane == 31) return;\n  params.out[t] = shfl_idx(1.0f, 2) + vote_any(lane == 6);\n",
     {}},
    {"ArriveAndWait",
     "  if (t < 32) st_shared_u32(word_at(t), t);\n  if (t < 32) bar_arrive(1, 64);\n  else "
     "bar_sync(1, 64);\n"
     "  if (t >= 32) params.out[t] = ld_shared_u32(word_at(t - 32));\n",
     {}},
    {"ReadersOfManyWarps",
     "  if (t == 0) st_shared_u32(word_at(0), 1);\n  bar_sync();\n  params.out[t] = "
     "ld_shared_u32(word_at(0));\n  bar_sync();\n"
     "  if (t == 255) st_shared_u32(word_at(0), 2);\n",
     {},
     256},
};

INSTANTIATE_TEST_SUITE_P(All, Clean, ::testing::ValuesIn(kCorrect),
                         [](const auto& info) { return info.param.name; });

constexpr char kHead[] =
    "struct Params { const unsigned* in; unsigned* out; };\n"
    "extern \"C\" __global__ void test_kernel(__grid_constant__ const Params params) {\n"
    "  const unsigned t = threadIdx.x;\n";

TEST(Launch, WhatADriverRefuses) {
  try {
    const auto device = open_emulated_cuda_device(75, {});
    const auto kernel = load_kernel(*device, std::string(kHead) + "  params.out[t] = t;\n}\n");
    const auto refused = [&](auto change, const std::string& words) {
      LaunchGeometry geometry;
      geometry.block.x = 32;
      change(geometry);
      try {
        device->launch(*kernel, geometry, {}, nullptr);
        FAIL() << words;
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr(words));
      }
    };
    refused([](LaunchGeometry& g) { g.dynamic_shared_bytes = 65 * 1024; },
            "66560 bytes of dynamic and 0 of static shared memory; a block has 65536");
    refused([](LaunchGeometry& g) { g.block.x = 1025; },
            "blocks of 1025 threads; allowed: 1 to 1024");
    refused([](LaunchGeometry& g) { g.grid.y = 65536; }, "at most 65535");
    refused([](LaunchGeometry& g) { g.cluster.x = 2, g.grid.x = 2; }, "clusters need sm_90");
  } catch (const Error& error) {
    if (error.code() != FFPA_JIT_NO_COMPILER) throw;
    GTEST_SKIP() << error.what();
  }
}

TEST(Launch, TheFirstBlockInGridOrderIsReported) {
  try {
    emulator::Options options;
    options.num_threads = 4;
    const auto device = open_emulated_cuda_device(80, options);
    const auto kernel = load_kernel(
        *device, std::string(kHead) + "  if (blockIdx.x >= 5) params.out[100000 + t] = t;\n}\n");
    unsigned out[256];
    const struct {
      const void* in;
      void* out;
    } params{nullptr, out};
    const MemoryRange ranges[] = {{"out", out, sizeof(out), true}};
    LaunchGeometry geometry;
    geometry.grid.x = 64;
    geometry.block.x = 32;
    for (int repeat = 0; repeat < 20; ++repeat) {
      try {
        device->launch_checked(*kernel, geometry, std::as_bytes(std::span(&params, 1)), nullptr,
                               ranges);
        FAIL();
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("block (5,0,0) warp 0 lane 0"));
      }
    }
  } catch (const Error& error) {
    if (error.code() != FFPA_JIT_NO_COMPILER) throw;
    GTEST_SKIP() << error.what();
  }
}

}  // namespace
}  // namespace ffpa_jit::testing
