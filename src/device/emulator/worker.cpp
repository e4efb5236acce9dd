#include "device/emulator/worker.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "device/emulator/scheduler.h"

namespace ffpa_jit::emulator {
namespace {

unsigned volume(const FfpaEmuIndex& index) { return index.x * index.y * index.z; }

constexpr size_t kSharedAlignment = 1024;

}  // namespace

bool Worker::run(const Launch& launch, uint64_t index) {
  set_up(launch, index);
  run_cluster(cluster_);
  async_actors_ = cluster_.async_actors.size();
  return !cluster_.failed;
}

void Worker::set_up(const Launch& launch, uint64_t index) {
  const unsigned blocks = volume(launch.cluster);
  const unsigned threads = volume(launch.block);
  const unsigned warps_per_block = (threads + kWarpSize - 1) / kWarpSize;
  stacks_.reserve(size_t{blocks} * threads);

  cluster_.launch = &launch;
  cluster_.failed = false;
  cluster_.failure = {};
  cluster_.random = launch.schedule.seed * 0x9E3779B97F4A7C15u + index;
  cluster_.last_warp = 0;
  cluster_.live_threads = blocks * threads;
  cluster_.blocks.resize(blocks);
  cluster_.warps.resize(size_t{blocks} * warps_per_block);
  cluster_.fibers.resize(size_t{blocks} * threads);
  cluster_.ready_warps.assign((cluster_.warps.size() + 63) / 64, 0);
  // Blocks are alike: there is room for what the one before had in the background.
  const auto warps = static_cast<unsigned>(cluster_.warps.size());
  cluster_.clocks.reset(warps, warps + static_cast<unsigned>(async_actors_));
  cluster_.async_actors.clear();
  cluster_.generic_actors.fill(0);
  for (unsigned warp = 0; warp < std::min(warps, Clocks::kMaxActors); ++warp)
    cluster_.generic_actors[warp / 64] |= uint64_t{1} << (warp % 64);
  cluster_.loads.clear();
  cluster_.pollers.clear();
  cluster_.progress = 1;
  cluster_.barrier.arrived = 0;
  cluster_.barrier.phase = 0;
  cluster_.barrier.waiting.clear();
  cluster_.barrier.gathered.clear();
  cluster_.barrier.released.clear();
  cluster_.elected_lane =
      launch.schedule.order == Order::kShuffle ? (cluster_.random >> 32) % kWarpSize : 0;

  const FfpaEmuIndex clusters{launch.grid.x / launch.cluster.x, launch.grid.y / launch.cluster.y,
                              launch.grid.z / launch.cluster.z};
  const FfpaEmuIndex first{
      static_cast<unsigned>(index % clusters.x) * launch.cluster.x,
      static_cast<unsigned>(index / clusters.x % clusters.y) * launch.cluster.y,
      static_cast<unsigned>(index / clusters.x / clusters.y) * launch.cluster.z};
  for (unsigned rank = 0; rank < blocks; ++rank) set_up_block(launch, rank, first);
}

void Worker::set_up_block(const Launch& launch, unsigned rank, FfpaEmuIndex first) {
  while (shared_.size() <= rank) {
    void* memory = nullptr;
    if (::posix_memalign(&memory, kSharedAlignment, kSharedBytes) != 0) throw std::bad_alloc();
    shared_.emplace_back(memory);
    shadows_.push_back(std::make_unique<ShadowMemory>());
  }
  const unsigned threads = volume(launch.block);
  const unsigned num_warps = (threads + kWarpSize - 1) / kWarpSize;
  const FfpaEmuIndex in_cluster{rank % launch.cluster.x, rank / launch.cluster.x % launch.cluster.y,
                                rank / launch.cluster.x / launch.cluster.y};
  Block& block = cluster_.blocks[rank];
  block.cluster = &cluster_;
  block.rank = rank;
  block.index = {first.x + in_cluster.x, first.y + in_cluster.y, first.z + in_cluster.z};
  block.shared = static_cast<unsigned char*>(shared_[rank].get());
  block.shadow = shadows_[rank].get();
  block.live_threads = threads;
  block.first_warp = rank * num_warps;
  block.num_warps = num_warps;
  block.num_mbarriers = 0;
  for (Mbarrier& barrier : block.mbarriers) barrier.waiting.clear();
  block.warpgroups.clear();
  block.free_registers = 0;
  block.waiting_for_registers.clear();
  for (NamedBarrier& barrier : block.barriers) {
    barrier.arrived = 0;
    barrier.warps = 0;
    barrier.waiting.clear();
  }

  // Shared memory starts as NaN in every format.
  std::memset(block.shared, 0xff, launch.dynamic_shared_bytes);
  std::memset(block.shared + launch.static_shared_begin, 0xff,
              kSharedBytes - launch.static_shared_begin);
  if (launch.detect_races) {
    block.shadow->reset(kSharedBytes, cluster_.clocks.stride());
    block.shadow->clear(0, launch.dynamic_shared_bytes);
    block.shadow->clear(launch.static_shared_begin, kSharedBytes);
  }

  for (unsigned w = 0; w < num_warps; ++w) {
    Warp& warp = cluster_.warps[block.first_warp + w];
    const unsigned lanes = threads - w * kWarpSize;
    warp.block = &block;
    warp.index = block.first_warp + w;
    warp.lanes = warp.live = lanes >= kWarpSize ? 0xffffffffu : (1u << lanes) - 1;
    warp.ready = 0;
    warp.tag = Tag::make(warp.index, 0, 1);
    warp.fibers = &cluster_.fibers[size_t{rank} * threads + w * kWarpSize];
    warp.all.members = 0xffffffffu;
    warp.all.arrived = 0;
    warp.all.unsettled = false;
    warp.groups.clear();
    warp.store_actor = 0;
    warp.stores = 0;
    make_ready(warp, warp.lanes);
  }

  for (unsigned t = 0; t < threads; ++t) {
    const size_t slot = size_t{rank} * threads + t;
    Fiber& fiber = cluster_.fibers[slot];
    fiber.thread = stacks_.thread(slot);
    fiber.block = &block;
    fiber.warp = &cluster_.warps[block.first_warp + t / kWarpSize];
    fiber.cluster = &cluster_;
    fiber.finished = false;
    fiber.wait = {};
    fiber.copies.clear();
    fiber.copy_groups.clear();
    fiber.stores.clear();
    fiber.store_groups.clear();
    fiber.polls = fiber.arrived_at_cluster = fiber.touched_registers = fiber.ever_fenced = false;
    fiber.multiplies_issued = fiber.polled_at = 0;
    fiber.multiply_groups = 0;
    *fiber.thread = {.thread = {t % launch.block.x, t / launch.block.x % launch.block.y,
                                t / launch.block.x / launch.block.y},
                     .block = block.index,
                     .block_dim = launch.block,
                     .grid_dim = launch.grid,
                     .cluster_block = in_cluster,
                     .cluster_dim = launch.cluster,
                     .lane = t % kWarpSize,
                     .warp = t / kWarpSize,
                     .cluster_rank = rank,
                     .shared = block.shared,
                     .dynamic_shared = block.shared,
                     .dynamic_shared_bytes = launch.dynamic_shared_bytes,
                     .fiber = &fiber,
                     .watched_begin = 0,
                     .watched_bytes = 0};
  }
}

}  // namespace ffpa_jit::emulator
