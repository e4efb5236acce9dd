// What can go wrong with asynchronous copies, mbarriers, clusters and wgmma: each planted once,
// reported by name and place under every schedule; and correct programs of the same pieces.
#include <gtest/gtest.h>

#include "emulator/planted_bug.h"

namespace ffpa_jit::testing {
namespace {

class HopperReport : public ::testing::TestWithParam<Bug> {};
TEST_P(HopperReport, NamesTheBugAndItsPlace) { expect_reported(GetParam()); }

class HopperClean : public ::testing::TestWithParam<Bug> {};
TEST_P(HopperClean, IsNotReported) { expect_clean(GetParam()); }

constexpr uint32_t kShared = 32 * 1024;

// `full` and `empty` are mbarriers for one and `arrivals` arrivals; `tile` is where a box goes.
std::string init(const std::string& arrivals = "1", const std::string& meet = "  bar_sync();\n") {
  return "  const unsigned full = dynamic_shared(), empty = full + 8, tile = full + 1024;\n"
         "  (void)empty; (void)tile; (void)lane;\n"
         "  if (t == 0) {\n    mbarrier_init(full, 1);\n    mbarrier_init(empty, " +
         arrivals + ");\n    fence_mbarrier_init();\n  }\n" + meet;
}
const std::string kClusterInit = init("1", "  cluster_arrive();\n  cluster_wait();\n");

constexpr char kLoad[] =
    "  if (t == 0) {\n    mbarrier_arrive_expect_tx(full, 1024);\n    tma_load_2d(tile, "
    "params.maps[0], full, 0, 0);\n  }\n";

// A filled tile of 64 rows by 64 for both operands, and what a wgmma on it takes.
constexpr char kOperands[] =
    "  const unsigned tile = dynamic_shared();\n"
    "  for (unsigned i = t; i < 2048; i += blockDim.x) st_shared_u32(tile + 4 * i, 0);\n"
    "  fence_proxy_async_shared();\n  bar_sync();\n"
    "  float d[32];\n  for (int i = 0; i < 32; ++i) d[i] = 0;\n"
    "  const unsigned long long m = wgmma_descriptor(wgmma_descriptor_low(tile, 16), "
    "wgmma_descriptor_high(1024, "
    "kWgmmaSwizzle128));\n  (void)m;\n";
constexpr char kMultiply[] = "wgmma_m64n64k16_f32_bf16<false, false>(d, m, m, true);";

std::string multiply(const std::string& rest = "") {
  return std::string("  ") + kMultiply + rest + "\n";
}
constexpr char kCommit[] = "  wgmma_commit_group();\n";
constexpr char kWait[] = "  wgmma_wait_group<0>();\n";
constexpr char kShow[] = "  params.out[t] = d[0] != 0;\n";

const std::vector<Bug> kBugs = {
    // ---- mbarriers
    {"NoMbarrier",
     init() + "  if (t == 5) mbarrier_arrive(full + 16);  // BUG\n",
     {"no mbarrier: mbarrier.arrive at shared memory offset 16", "lane 5 (thread 5)"}},
    {"OverwrittenMbarrier",
     init() + "  if (t == 0) st_shared_u32(full, 0);\n  bar_sync();\n  if (t == 0) "
              "mbarrier_arrive(full);  // BUG\n",
     {"overwritten mbarrier: mbarrier.arrive of the one at shared memory offset 0",
      "initialised at bug.cu:6"}},
    {"UsedBeforeItIsInitialised",
     init("1", "") + "  if (t >= 32) mbarrier_wait(full, 1);  // BUG\n",
     {"mbarrier.try_wait"}},
    {"MbarrierMisaligned",
     init() + "  if (t == 0) mbarrier_arrive(full + 4);  // BUG\n",
     {"misaligned: mbarrier.arrive of 8 bytes"}},
    {"TooFewArrivals",
     init("2") +
         "  if (t == 0) mbarrier_arrive(empty);\n  if (t == 33) mbarrier_wait(empty, 0);  // BUG\n",
     {"deadlock: 1 threads wait at mbarrier.try_wait for parity 0 of the mbarrier at shared memory "
      "offset 8",
      "phase 0 is under way: 1 of 2 arrivals and 0 bytes are missing", "warp 1 lanes 1;",
      "63 threads have finished"}},
    {"TooManyArrivals",
     init() + "  if (t == 0) mbarrier_arrive_expect_tx(full, 16);\n  if (t == 0) "
              "mbarrier_arrive(full);  // BUG\n",
     {"too many arrivals", "whose phase 0 has all its 1 arrivals and waits for 16 bytes"}},
    {"WrongParity",
     init() + "  if (t == 0) mbarrier_arrive(full);\n  mbarrier_wait(full, 1);  // BUG\n",
     {"mbarrier.try_wait for parity 1", "phase 1 is under way: 1 of 1 arrivals"}},
    {"ArrivalsForNone",
     "  if (t == 0) mbarrier_init(dynamic_shared(), 0);  // BUG\n",
     {"mbarrier.init for 0 arrivals"}},

    // ---- bulk copies
    {"ExpectedTooMuch",
     init() + "  if (t == 0) {\n    mbarrier_arrive_expect_tx(full, 1040);\n    tma_load_2d(tile, "
              "params.maps[0], full, 0, "
              "0);\n  }\n  mbarrier_wait(full, 0);  // BUG\n",
     {"deadlock: 64 threads wait at mbarrier.try_wait",
      "0 of 1 arrivals and 16 bytes are missing"}},
    {"ExpectedTooLittle",
     init() + "  if (t == 0) mbarrier_arrive_expect_tx(full, 1024);\n"
              "  for (unsigned i = 0; i < 2 && t == 0; ++i) tma_load_2d(tile + 1024 * i, "
              "params.maps[0], full, 0, 0);  // BUG\n"
              "  mbarrier_wait(full, 0);\n  mbarrier_wait(full, 1);\n",
     {"expected too little: 1024 bytes come to the mbarrier at shared memory offset 0 in phase 1"},
     64,
     kShared,
     90,
     1,
     false},
    {"BytesThatNobodyExpects",
     init() + "  if (t == 0) {\n    mbarrier_arrive_expect_tx(full, 512);\n    tma_load_2d(tile, "
              "params.maps[0], full, 0, "
              "0);\n  }\n  mbarrier_wait(full, 0);  // BUG\n",
     {"deadlock", "-512 bytes"}},
    {"CopyNotWaitedFor",
     init() + kLoad + "  bar_sync();\n  params.out[t] = ld_shared_u32(tile + 4 * t);  // BUG\n",
     {"the bulk copy counted at the mbarrier at offset 0, phase 0"}},
    {"WaitForAnotherCopy",
     init() + kLoad +
         "  if (t == 0) {\n    mbarrier_arrive_expect_tx(empty, 1024);\n    tma_load_2d(tile + "
         "1024, params.maps[0], "
         "empty, 0, 0);\n  }\n  mbarrier_wait(empty, 0);\n  params.out[t] = ld_shared_u32(tile + 4 "
         "* t);  // BUG\n",
     {"the bulk copy counted at the mbarrier at offset 0, phase 0"}},
    {"CopyOverWhatIsRead",
     init("32") + kLoad +
         "  mbarrier_wait(full, 0);\n"
         "  if (t >= 32) params.out[t] = ld_shared_u32(tile + 4 * t); else if (t == 0) { "
         "mbarrier_arrive_expect_tx(full, 1024); tma_load_2d(tile, params.maps[0], full, 0, 0); }  "
         "// BUG\n"
         "  mbarrier_wait(full, 1);\n",
     {""}},
    {"CopyOverOrdinaryWrites",
     init() + "  st_shared_u32(tile + 4 * t, t);\n  bar_sync();\n  if (t == 0) "
              "mbarrier_arrive_expect_tx(full, 1024);\n"
              "  if (t == 0) tma_load_2d(tile, params.maps[0], full, 0, 0);  // BUG\n  "
              "mbarrier_wait(full, 0);\n",
     {"missing proxy fence: cp.async.bulk of 1024 bytes",
      "no fence.proxy.async after an ordinary write", "written by warp 0 lane 0"}},
    {"InitNotFenced",
     "  const unsigned full = dynamic_shared();\n  if (t == 0) mbarrier_init(full, 1);\n  "
     "bar_sync();\n"
     "  if (t == 0) mbarrier_arrive_expect_tx(full, 1024);\n"
     "  if (t == 0) tma_load_2d(full + 1024, params.maps[0], full, 0, 0);  // BUG\n  "
     "mbarrier_wait(full, 0);\n",
     {"missing proxy fence: a bulk copy is counted at the mbarrier", "fence.mbarrier_init"}},
    {"CopyInFlightAtTheEnd",
     init() + "  if (t == 0) mbarrier_arrive_expect_tx(full, 1024);\n"
              "  if (t == 0) tma_load_2d(tile, params.maps[0], full, 0, 0);  // BUG\n",
     {"nobody has waited for"}},
    {"CopyFromOutsideTheTensor",
     init() + "  if (t == 0) tma_load_2d(tile, params.maps[2], full, 0, 0);  // BUG\n",
     {"out of bounds: bulk copy from 2048 bytes of global memory", "in (1024 bytes)"}},
    {"CopyToMisaligned",
     init() + "  if (t == 0) tma_load_2d(tile + 64, params.maps[0], full, 0, 0);  // BUG\n",
     {"misaligned: cp.async.bulk with the shared memory offset 0x440, which is not a multiple of "
      "128"}},
    {"CopyFromMisaligned",
     init() + "  if (t == 0) tma_load_2d(tile, params.maps[0], full, 4, 0);  // BUG\n",
     {"misaligned: cp.async.bulk of a box whose innermost coordinate is 4, 8 bytes into a row"}},
    {"CopyPastTheEnd",
     init() +
         "  if (t == 0) tma_load_2d(tile + 31 * 1024 - 512, params.maps[0], full, 0, 0);  // BUG\n",
     {"out of bounds: cp.async.bulk of 1024 bytes at shared memory offset"}},
    {"NoTensorMap",
     init() + "  if (t == 0) tma_load_2d(tile, params.maps[3], full, 0, 0);  // BUG\n",
     {"no tensor map"}},
    {"RankOfTheMap",
     init() + "  if (t == 0) tma_load_3d(tile, params.maps[0], full, 0, 0, 0);  // BUG\n",
     {"3 coordinates for a tensor map of rank 2"}},
    {"StoreNotFenced",
     "  const unsigned tile = dynamic_shared();\n  for (unsigned i = t; i < 256; i += 64) "
     "st_shared_u32(tile + 4 * i, "
     "i);\n  bar_sync();\n"
     "  if (t == 0) tma_store_4d(params.maps[1], tile, 0, 0, 0, 0);  // BUG\n",
     {"missing proxy fence: cp.async.bulk of 1024 bytes", "written by warp"}},
    {"FenceBeforeTheWrites",
     "  const unsigned tile = dynamic_shared();\n  fence_proxy_async_shared();\n"
     "  for (unsigned i = t; i < 256; i += 64) st_shared_u32(tile + 4 * i, i);\n  bar_sync();\n"
     "  if (t == 0) tma_store_4d(params.maps[1], tile, 0, 0, 0, 0);  // BUG\n",
     {"missing proxy fence"}},
    {"StoreNotWaitedFor",
     "  const unsigned tile = dynamic_shared();\n  for (unsigned i = t; i < 256; i += 64) "
     "st_shared_u32(tile + 4 * i, "
     "i);\n  fence_proxy_async_shared();\n  bar_sync();\n"
     "  if (t == 0) tma_store_4d(params.maps[1], tile, 0, 0, 0, 0);  // BUG\n  if (t == 0) "
     "tma_store_commit_group();\n",
     {"missing wait: a bulk store may still read shared memory when its thread leaves"}},
    {"WriteWhileAStoreReads",
     "  const unsigned tile = dynamic_shared();\n  for (unsigned i = t; i < 256; i += 64) "
     "st_shared_u32(tile + 4 * i, "
     "i);\n  fence_proxy_async_shared();\n  bar_sync();\n  if (t == 0) {\n"
     "    tma_store_4d(params.maps[1], tile, 0, 0, 0, 0);\n    tma_store_commit_group();\n  }\n  "
     "bar_sync();\n"
     "  st_shared_u32(tile + 4 * t, 0);  // BUG\n  if (t == 0) tma_store_wait_group<0>();\n",
     {"race: write of 4 bytes", "read by a bulk store of warp 0"}},
    {"StoreOfUnwrittenMemory",
     "  if (t == 0) tma_store_4d(params.maps[1], dynamic_shared(), 0, 0, 0, 0);  // BUG\n",
     {"uninitialised: cp.async.bulk"}},
    {"StoreBeforeTheTensor",
     "  const unsigned tile = dynamic_shared();\n  for (unsigned i = t; i < 256; i += 64) "
     "st_shared_u32(tile + 4 * i, "
     "i);\n  fence_proxy_async_shared();\n  bar_sync();\n"
     "  if (t == 0) tma_store_4d(params.maps[1], tile, 0, -2, 0, 0);  // BUG\n",
     {"out of bounds: cp.async.bulk to a box that begins at coordinate -2 of dimension 1"}},
    {"StoreIntoAnInput",
     "  const unsigned tile = dynamic_shared();\n  if (t == 0) st_shared_u32(tile, 0), "
     "st_shared_u32(tile + 4, 0), "
     "st_shared_u32(tile + 8, 0), st_shared_u32(tile + 12, 0);\n  fence_proxy_async_shared();\n"
     "  if (t == 0) bulk_store((void*)params.in, tile, 16);  // BUG\n",
     {"out of bounds: bulk copy to 16 bytes", "in, which the kernel may only read"}},

    // ---- wgmma
    {"OperandsNotFenced",
     "  const unsigned tile = dynamic_shared();\n  for (unsigned i = t; i < 2048; i += 128) "
     "st_shared_u32(tile + 4 * i, "
     "0);\n  bar_sync();\n  float d[32];\n  for (int i = 0; i < 32; ++i) d[i] = 0;\n"
     "  const unsigned long long m = wgmma_descriptor(wgmma_descriptor_low(tile, 16), "
     "wgmma_descriptor_high(1024, "
     "kWgmmaSwizzle128));\n  wgmma_fence();\n" +
         multiply("  // BUG") + kCommit + kWait + kShow,
     {"missing proxy fence: wgmma of 16 bytes", "no fence.proxy.async after an ordinary write",
      "bug.cu:4"},
     128,
     kShared},
    {"OperandsNotSynchronised",
     "  const unsigned tile = dynamic_shared();\n  for (unsigned i = t; i < 2048; i += 128) "
     "st_shared_u32(tile + 4 * i, "
     "0);\n  fence_proxy_async_shared();\n  float d[32];\n  for (int i = 0; i < 32; ++i) d[i] = "
     "0;\n"
     "  const unsigned long long m = wgmma_descriptor(wgmma_descriptor_low(tile, 16), "
     "wgmma_descriptor_high(1024, "
     "kWgmmaSwizzle128));\n  wgmma_fence();\n" +
         multiply("  // BUG") + kCommit + kWait + kShow,
     {"race: wgmma of 16 bytes", "written by warp"},
     128,
     kShared},
    {"OperandsNeverWritten",
     "  float d[32];\n  for (int i = 0; i < 32; ++i) d[i] = 0;\n"
     "  const unsigned long long m = wgmma_descriptor(wgmma_descriptor_low(dynamic_shared(), 16), "
     "wgmma_descriptor_high(1024, kWgmmaSwizzle128));\n  wgmma_fence();\n" +
         multiply("  // BUG") + kCommit + kWait + kShow,
     {"uninitialised: wgmma of 16 bytes"},
     128,
     kShared},
    {"AccumulatorRead",
     std::string(kOperands) + "  wgmma_fence();\n" + multiply() + kCommit +
         "  const bool early = d[7] != 0;  // BUG\n" + kWait + "  params.out[t] = early;\n",
     {"accumulator in use: read of register 7", "wgmma at bug.cu:12"},
     128,
     kShared},
    {"AccumulatorWritten",
     std::string(kOperands) + "  wgmma_fence();\n" + multiply() + kCommit +
         "  d[31] = 0;  // BUG\n" + kWait + kShow,
     {"accumulator in use: write of register 31"},
     128,
     kShared},
    {"NotCommitted",
     std::string(kOperands) + "  wgmma_fence();\n" + multiply() + kWait +
         "  params.out[t] = d[0] != 0;  // BUG\n",
     {"accumulator in use: read of register 0"},
     128,
     kShared},
    {"WaitForAnEarlierGroup",
     std::string(kOperands) +
         "  float e[32];\n  for (int i = 0; i < 32; ++i) e[i] = 0;\n  wgmma_fence();\n" +
         multiply() + kCommit +
         "  wgmma_m64n64k16_f32_bf16<false, false>(e, m, m, true);\n  wgmma_commit_group();\n  "
         "wgmma_wait_group<1>();\n"
         "  params.out[t] = d[0] != 0;\n  params.out[t] += e[0] != 0;  // BUG\n",
     {"accumulator in use: read of register 0"},
     128,
     kShared},
    {"NoWgmmaFence",
     kOperands + multiply("  // BUG") + kCommit + kWait + kShow,
     {"missing wgmma.fence: there is none before the thread's first wgmma"},
     128,
     kShared},
    {"NoWgmmaFenceAfterAWrite",
     std::string(kOperands) + "  wgmma_fence();\n" + multiply() + kCommit + kWait +
         "  d[3] = 5;\n" + multiply("  // BUG") + kCommit + kWait + kShow,
     {"missing wgmma.fence: the accumulator has been touched since the last wgmma on it"},
     128,
     kShared},
    {"NoWgmmaFenceAfterARead",
     std::string(kOperands) + "  wgmma_fence();\n" + multiply() + kCommit + kWait + kShow +
         "  wgmma_m64n64k16_f32_bf16<false, false>(d, m, m, false);  // BUG\n" + kCommit + kWait +
         kShow,
     {"missing wgmma.fence: the accumulator has been touched"},
     128,
     kShared},
    {"NoWgmmaFenceForA",
     std::string(kOperands) + "  float e[32];\n  wgmma_fence();\n" + multiply() + kCommit + kWait +
         "  const unsigned a = cvt_rn_bf16x2_f32(d[0], d[1]);\n"
         "  wgmma_m64n64k16_f32_bf16<false>(e, a, a, a, a, m, false);  // BUG\n" +
         kCommit + kWait + "  params.out[t] = e[0] != 0;\n",
     {"missing wgmma.fence: A is in registers"},
     128,
     kShared},
    {"LeavesWithAWgmma",
     std::string(kOperands) + "  wgmma_fence();\n" + multiply("  // BUG") + kCommit,
     {"missing wait: a thread leaves the kernel with a wgmma"},
     128,
     kShared},
    {"OperandsOverwritten",
     std::string(kOperands) + "  wgmma_fence();\n" + multiply() + kCommit +
         "  st_shared_u32(tile + 4 * t, 1);  // BUG\n" + kWait + kShow,
     {"race: ", "wgmma"},
     128,
     kShared},
    {"SlotReleasedTooEarly",
     init("128") +
         "  if (t < 128) {\n    float d[32];\n    for (int i = 0; i < 32; ++i) d[i] = 0;\n    "
         "const unsigned long long m = "
         "wgmma_descriptor(wgmma_descriptor_low(tile, 16), wgmma_descriptor_high(0, "
         "kWgmmaSwizzle128));\n    "
         "mbarrier_wait(full, 0);\n    wgmma_fence();\n    "
         "wgmma_m64n64k16_f32_bf16<false, false>(d, m, m, true);\n    wgmma_commit_group();\n    "
         "mbarrier_arrive(empty);\n"
         "    wgmma_wait_group<0>();\n    params.out[t] = d[0] != 0;\n  } else if (t == 128) {\n"
         "    mbarrier_arrive_expect_tx(full, 1024);\n    tma_load_2d(tile, params.maps[0], full, "
         "0, 0);\n    "
         "mbarrier_wait(empty, 0);\n    mbarrier_arrive_expect_tx(full, 1024);\n"
         "    tma_load_2d(tile, params.maps[0], full, 0, 0);  // BUG\n    mbarrier_wait(full, "
         "1);\n  }\n",
     {"race: cp.async.bulk of 1024 bytes", "read by a wgmma of warpgroup 0"},
     160,
     kShared},
    {"DescriptorPastTheEnd",
     std::string(kOperands) + "  wgmma_fence();\n" +
         "  const unsigned long long past = wgmma_descriptor(wgmma_descriptor_low(tile + 28 * "
         "1024, 16), "
         "wgmma_descriptor_high(1024, kWgmmaSwizzle128));\n"
         "  wgmma_m64n64k16_f32_bf16<false, false>(d, m, past, true);  // BUG\n" +
         kCommit + kWait + kShow,
     {"out of bounds: wgmma, by its descriptor, of 16 bytes at shared memory offset"},
     128,
     kShared},
    {"BaseOffset",
     std::string(kOperands) + "  wgmma_fence();\n" +
         "  wgmma_m64n64k16_f32_bf16<false, false>(d, m, m | 1ull << 49, true);  // BUG\n" +
         kCommit + kWait + kShow,
     {"wgmma with a base offset of 1"},
     128,
     kShared},
    {"DivergentWgmma",
     std::string(kOperands) + "  wgmma_fence();\n" +
         "  wgmma_m64n64k16_f32_bf16<false, false>(d, t < 64 ? m : m + 2, m, true);  // BUG\n" +
         kCommit + kWait + kShow,
     {"divergent wgmma: threads of one warpgroup issue different ones"},
     128,
     kShared},
    {"HalfAWarpgroup",
     std::string(kOperands) + "  if (t < 64) {\n    wgmma_fence();\n  " + multiply() + kCommit +
         "    wgmma_wait_group<0>();  // BUG\n    params.out[t] = d[0] != 0;\n  }\n",
     {"deadlock: 64 threads wait at wgmma.wait_group", "warp 0, warp 1"},
     128,
     kShared},
    {"NoWarpgroup",
     std::string(kOperands) + "  wgmma_fence();\n" + multiply("  // BUG") + kCommit + kWait + kShow,
     {"of a block of 64 threads; warpgroups are 4 whole warps"},
     64,
     kShared},

    // ---- registers
    {"RegistersThatNobodyGives",
     "  if (t >= 128) setmaxnreg_inc<240>();  // BUG\n",
     {"deadlock: 256 threads wait at setmaxnreg"},
     384},
    {"RegistersOfAnyNumber",
     "  setmaxnreg_dec<100>();  // BUG\n",
     {"setmaxnreg.dec 100; allowed: multiples of 8"},
     128},
    {"RegistersOfAWarp",
     "  if (t < 32) setmaxnreg_dec<40>();  // BUG\n",
     {"deadlock: 32 threads wait at setmaxnreg"},
     128},

    // ---- clusters
    {"BlockNotBegun",
     "  params.out[t] = ld_shared_cluster_u32(mapa(word_at(t), cluster_ctarank() ^ 1));  // BUG\n",
     {"block not begun: ld.shared::cluster in the shared memory of the block of rank"},
     64,
     1024,
     90,
     2},
    {"BlockEnded",
     "  st_shared_u32(word_at(t), t);\n  cluster_arrive();\n  cluster_wait();\n  if "
     "(cluster_ctarank() == 1) return;\n"
     "  cluster_arrive();\n  cluster_wait();\n"
     "  params.out[t] = ld_shared_cluster_u32(mapa(word_at(t), 1));  // BUG\n",
     {"ended block: ld.shared::cluster in the shared memory of the block of rank 1",
      "block (0,0,0)"},
     64,
     1024,
     90,
     2},
    {"NoSuchRank",
     "  cluster_arrive();\n  cluster_wait();\n  st_shared_cluster_u32(mapa(word_at(t), 2), t);  // "
     "BUG\n",
     {"mapa to rank 2; the cluster has 2 blocks"},
     64,
     1024,
     90,
     2},
    {"ClusterWriteAndRead",
     "  st_shared_u32(word_at(t), t);\n  cluster_arrive();\n  cluster_wait();\n"
     "  if (cluster_ctarank() == 0) st_shared_cluster_u32(mapa(word_at(t), 1), t); else "
     "params.out[t] = "
     "ld_shared_u32(word_at(t));  // BUG\n  cluster_arrive();\n  cluster_wait();\n",
     {"race: ", "of block rank"},
     64,
     1024,
     90,
     2},
    {"AddressOfAnotherBlock",
     "  cluster_arrive();\n  cluster_wait();\n"
     "  if (cluster_ctarank() == 0) st_shared_u32(mapa(word_at(t), 1), t);  // BUG\n  "
     "cluster_arrive();\n  "
     "cluster_wait();\n",
     {"out of bounds",
      "which is in the block of rank 1; this instruction takes addresses of its own block, rank 0"},
     64,
     1024,
     90,
     2},
    {"ClusterArriveTwice",
     "  cluster_arrive();\n  cluster_arrive();  // BUG\n  cluster_wait();\n",
     {"barrier.cluster.arrive a second time"},
     64,
     1024,
     90,
     2},
    {"ClusterWaitAlone",
     "  cluster_wait();  // BUG\n",
     {"barrier.cluster.wait with no barrier.cluster.arrive"},
     64,
     1024,
     90,
     2},
    {"ClusterDeadlock",
     "  const unsigned full = dynamic_shared();\n  if (t == 0) mbarrier_init(full, 1);\n  "
     "bar_sync();\n"
     "  if (cluster_ctarank() == 1) mbarrier_wait(full, 0);\n  cluster_arrive();\n  "
     "cluster_wait();  // BUG\n",
     {"deadlock: 64 threads wait at barrier.cluster.wait (64 of 128 threads have come) in the "
      "block of rank 0",
      "64 threads wait at mbarrier.try_wait for parity 0"},
     64,
     1024,
     90,
     2},
    {"RemoteArrivalWithoutInit",
     "  cluster_arrive();\n  cluster_wait();\n"
     "  if (t == 0 && cluster_ctarank() == 0) mbarrier_arrive_cluster(mapa(dynamic_shared(), 1));  "
     "// BUG\n  "
     "cluster_arrive();\n  cluster_wait();\n",
     {"no mbarrier: mbarrier.arrive at shared memory offset 0"},
     64,
     1024,
     90,
     2},
    {"AsynchronousStoreNotWaitedFor",
     kClusterInit + "  if (t == 0) mbarrier_arrive_expect_tx(full, 128);\n"
                    "  if (t < 32) st_async_u32(mapa(tile + 4 * t, cluster_ctarank() ^ 1), t, "
                    "mapa(full, cluster_ctarank() ^ 1));\n"
                    "  if (t < 32) params.out[t] = ld_shared_u32(tile + 4 * t);  // BUG\n  "
                    "cluster_arrive();\n  cluster_wait();\n",
     {""},
     64,
     kShared,
     90,
     2},
    {"MulticastToAnEndedBlock",
     kClusterInit +
         "  if (cluster_ctarank() == 1) return;\n  cluster_arrive();\n  cluster_wait();\n"
         "  if (t == 0) tma_load_4d_multicast(tile, params.maps[1], full, 3, 0, 0, 0, 0);  // "
         "BUG\n",
     {"ended block: cp.async.bulk in the shared memory of the block of rank 1"},
     64,
     kShared,
     90,
     2},
    {"MulticastToNoBlock",
     kClusterInit + "  if (t == 0) tma_load_4d_multicast(tile, params.maps[1], full, 4, 0, 0, 0, "
                    "0);  // BUG\n",
     {"cp.async.bulk in the block of rank 2; the cluster has 2 blocks"},
     64,
     kShared,
     90,
     2},
    {"MbarrierOfAnotherBlock",
     kClusterInit + "  if (t == 0) tma_load_2d(tile, params.maps[0], mapa(full, cluster_ctarank() "
                    "^ 1), 0, 0);  // BUG\n",
     {"counted at an mbarrier of rank"},
     64,
     kShared,
     90,
     2},
};

INSTANTIATE_TEST_SUITE_P(All, HopperReport, ::testing::ValuesIn([] {
                           std::vector<Bug> bugs = kBugs;
                           for (Bug& bug : bugs)
                             bug.dynamic_shared_bytes = std::max(bug.dynamic_shared_bytes, kShared);
                           return bugs;
                         }()),
                         [](const auto& info) { return info.param.name; });

const std::vector<Bug> kCorrect = {
    // One slot: loaded, multiplied with, released, loaded again.
    {"Ring",
     init("128") +
         R"(  if (t < 128) {
    float d[32];
    for (int i = 0; i < 32; ++i) d[i] = 0;
    const unsigned long long m = wgmma_descriptor(wgmma_descriptor_low(tile, 16), wgmma_descriptor_high(0, kWgmmaSwizzle128));
    for (unsigned i = 0; i < 5; ++i) {
      mbarrier_wait(full, i & 1);
      wgmma_fence();
      wgmma_m64n64k16_f32_bf16<false, false>(d, m, m, true);
      wgmma_commit_group();
      wgmma_wait_group<0>();
      mbarrier_arrive(empty);
    }
    params.out[t] = d[0] != 0;
  } else if (t == 128) {
    for (unsigned i = 0; i < 5; ++i) {
      mbarrier_wait(empty, (i & 1) ^ 1);
      mbarrier_arrive_expect_tx(full, 1024);
      tma_load_2d(tile, params.maps[0], full, 0, 0);
    }
    mbarrier_wait(empty, 0);
  }
)",
     {},
     160},
    // One warpgroup writes what the other multiplies with; two accumulators in flight.
    {"Handover",
     init("128") +
         R"(  const unsigned long long m = wgmma_descriptor(wgmma_descriptor_low(tile, 16), wgmma_descriptor_high(1024, kWgmmaSwizzle128));
  if (t < 128) {
    setmaxnreg_dec<40>();
    for (unsigned i = 0; i < 3; ++i) {
      mbarrier_wait(empty, (i & 1) ^ 1);
      for (unsigned at = t; at < 2048; at += 128) st_shared_u32(tile + 4 * at, 0);
      fence_proxy_async_shared();
      bar_sync(1, 128);
      if (t == 0) mbarrier_arrive(full);
    }
  } else {
    setmaxnreg_inc<240>();
    float d[32], e[32];
    for (int i = 0; i < 32; ++i) d[i] = e[i] = 0;
    for (unsigned i = 0; i < 3; ++i) {
      mbarrier_wait(full, i & 1);
      wgmma_fence();
      wgmma_m64n64k16_f32_bf16<false, false>(d, m, m, i > 0);
      wgmma_commit_group();
      wgmma_m64n64k16_f32_bf16<false, true>(e, m, m, i > 0);
      wgmma_commit_group();
      wgmma_wait_group<1>();
      d[0] += 1;
      wgmma_wait_group<0>();
      e[0] += 1;
      mbarrier_arrive(empty);
    }
    params.out[t - 128] = d[0] + e[0];
  }
)",
     {},
     256},
    // A tile that was stored from is written again.
    {"StoreAndReuse",
     R"(  const unsigned tile = dynamic_shared();
  for (unsigned i = 0; i < 3; ++i) {
    for (unsigned at = t; at < 256; at += 64) st_shared_u32(tile + 4 * at, at + i);
    fence_proxy_async_shared();
    bar_sync();
    if (t == 0) {
      tma_store_4d(params.maps[1], tile, 0, 0, 0, 0);
      tma_store_commit_group();
      tma_store_wait_group_read<0>();
    }
    bar_sync();
  }
)",
     {}},
    // Data of TMA is read, then overwritten, by ordinary accesses.
    {"LoadAndReuse",
     init("64") + kLoad +
         "  mbarrier_wait(full, 0);\n  params.out[t] = ld_shared_u32(tile + 4 * t);\n  "
         "bar_sync();\n  st_shared_u32(tile + "
         "4 * (t ^ 33), t);\n  bar_sync();\n  params.out[t] += ld_shared_u32(tile + 4 * t);\n",
     {}},
    // Blocks hand each other a word back and forth.
    {"PingPong",
     kClusterInit +
         R"(  const unsigned other = cluster_ctarank() ^ 1;
  st_shared_u32(tile + 4 * t, t);
  for (unsigned i = 0; i < 4; ++i) {
    cluster_arrive();
    cluster_wait();
    const unsigned there = ld_shared_cluster_u32(mapa(tile + 4 * t, other));
    cluster_arrive();
    cluster_wait();
    st_shared_u32(tile + 4 * t, there + 1);
  }
  cluster_arrive();
  cluster_wait();
)",
     {},
     64,
     kShared,
     90,
     2},
    {"RemoteSlots",
     kClusterInit +
         R"(  const unsigned rank = cluster_ctarank(), other = rank ^ 1;
  for (unsigned i = 0; i < 3; ++i) {
    if (t == 0) mbarrier_arrive_expect_tx(full, 128);
    if (t < 32) {
      if (i > 0) mbarrier_wait(empty, (i - 1) & 1);
      st_async_u32(mapa(tile + 4 * t, other), i, mapa(full, other));
      mbarrier_wait(full, i & 1);
      params.out[t] = ld_shared_u32(tile + 4 * t);
      __syncwarp();
      if (t == 0) mbarrier_arrive_cluster(mapa(empty, other));
    }
  }
  cluster_arrive();
  cluster_wait();
)",
     {},
     64,
     kShared,
     90,
     2},
    {"MulticastBoth",
     kClusterInit +
         R"(  if (t == 0) {
    mbarrier_arrive_expect_tx(full, 2048);
    tma_load_4d_multicast(tile + 1024 * cluster_ctarank(), params.maps[1], full, 3, 0, 0, 0, 0);
  }
  mbarrier_wait(full, 0);
  const unsigned word = ld_shared_u32(tile + 4 * t) + ld_shared_u32(tile + 1024 + 4 * t);
  cluster_arrive();
  cluster_wait();
  (void)word;
)",
     {},
     64,
     kShared,
     90,
     2},
    // What works in the background differs from block to block: many, none, many again.
    {"BlocksThatDiffer",
     R"(  const unsigned barriers = dynamic_shared(), tile = barriers + 1024;
  if (blockIdx.x % 2 == 1) return;
  if (t == 0) {
    for (unsigned i = 0; i < 40; ++i) mbarrier_init(barriers + 8 * i, 1);
    fence_mbarrier_init();
    for (unsigned i = 0; i < 40; ++i) {
      mbarrier_arrive_expect_tx(barriers + 8 * i, 16);
      bulk_load(tile + 16 * i, params.in, 16, barriers + 8 * i);
    }
  }
  bar_sync();
  for (unsigned i = 0; i < 40; ++i) mbarrier_wait(barriers + 8 * i, 0);
  const unsigned word = ld_shared_u32(tile + 4 * t);
  bar_sync();
  if (word != 1) params.out[0] = *(const unsigned*)4096;
)",
     {},
     64,
     kShared,
     90,
     1,
     true,
     5},
    {"PollingThread",
     init() + "  if (t == 0) while (!mbarrier_try_wait(full, 0)) mbarrier_arrive(empty);\n  if (t "
              "== 32) mbarrier_arrive(full);\n",
     {}},
};

INSTANTIATE_TEST_SUITE_P(All, HopperClean, ::testing::ValuesIn([] {
                           std::vector<Bug> programs = kCorrect;
                           for (Bug& program : programs)
                             program.dynamic_shared_bytes =
                                 std::max(program.dynamic_shared_bytes, kShared);
                           return programs;
                         }()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace ffpa_jit::testing
