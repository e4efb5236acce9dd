// What the emulator knows while a cluster of thread blocks runs: threads (fibers), warps, blocks,
// the cluster. One worker thread runs one cluster at a time; nothing here is shared between
// workers. The instruction files change it, the scheduler (scheduler.h) switches between the
// fibers.
#pragma once

#include <array>
#include <boost/context/detail/fcontext.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "device/emulator/clocks.h"
#include "device/emulator/fiber_stacks.h"
#include "device/emulator/memory_ranges.h"
#include "device/emulator/options.h"
#include "device/emulator/shadow_memory.h"
#include "device/emulator/table.h"
#include "device/emulator/tensor_copy.h"

namespace ffpa_jit::emulator {

constexpr uint32_t kSharedBytes =
    227 * 1024;  // the most that any block has; static variables lie at its end
constexpr unsigned kWarpSize = 32;
constexpr unsigned kWarpgroup = 4;  // warps
constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxWarps = kMaxThreads / kWarpSize;
constexpr unsigned kNamedBarriers = 16;

struct Cluster;
struct Block;
struct Warp;
struct Warpgroup;

// What a thread is doing while it waits, by its PTX name.
enum class Op : uint8_t {
  kNone,
  kBarSync,
  kBarArrive,
  kBarRed,
  kBarWarpSync,
  kShuffle,
  kVote,
  kElect,
  kMma,
  kLdmatrix,
  kStmatrix,
  kMbarrierInit,
  kMbarrierArrive,
  kMbarrierWait,
  kBulkCopy,
  kStoreAsync,
  kClusterWait,
  kWgmma,
  kWgmmaWait,
  kSetmaxnreg
};
const char* name_of(Op op);

struct Wait {
  Op op = Op::kNone;
  unsigned detail = 0;  // barrier number; mbarrier: its offset and, in bit 0, the parity
  const void* place = nullptr;
};

// cp.async: lands when its thread waits for the group it is in.
struct PendingCopy {
  uint32_t to;
  uint32_t bytes, source_bytes;
  const void* from;
  const void* place;
};

// cp.async.bulk to global memory: done when its thread waits for the group it is in.
struct PendingStore {
  TensorCopy copy;
  uint32_t from;
  uint16_t clock;  // of the warp's store actor
  const void* place;
};

// What the sanitizers keep of a stack (sanitizer_fibers.h).
struct SanitizerState {
  void* fake_stack = nullptr;
  const void* bottom = nullptr;
  size_t size = 0;
  void* context = nullptr;
};

struct Fiber {
  FfpaEmuThread* thread = nullptr;
  boost::context::detail::fcontext_t context = nullptr;
  Block* block = nullptr;
  Warp* warp = nullptr;
  Cluster* cluster = nullptr;
  bool finished = false;
  bool polls = false;               // waits only until nobody else can go on
  bool arrived_at_cluster = false;  // and has not waited
  uint32_t cluster_phase = 0;       // that it has arrived for
  Wait wait;
  unsigned result = 0;  // of a reduction or a wait, set by whoever completed it
  std::vector<PendingCopy> copies;
  std::vector<uint32_t> copy_groups;  // end in `copies` of each committed group, oldest first
  std::vector<PendingStore> stores;
  std::vector<uint32_t> store_groups;  // the same of `stores`
  uint64_t multiplies_issued = 0;      // wgmma
  uint32_t multiply_groups = 0;        // committed
  bool ever_fenced = false;            // wgmma.fence
  bool touched_registers = false;      // an accumulator, since the last
  uint64_t polled_at = 0;              // Cluster::progress when last let go without success
  SanitizerState sanitizer;
};

// Lanes that meet at one warp-wide instruction.
struct Rendezvous {
  uint32_t members = 0, arrived = 0;
  bool unsettled = false;  // complete because a lane has left; whoever is woken next does the work
  Op op = Op::kNone;
  const void* place = nullptr;
  std::array<void*, kWarpSize> operands{};
};

struct Warp {
  Block* block = nullptr;
  unsigned index = 0;  // in the cluster: position in Cluster::warps, and the warp's actor
  uint32_t lanes = 0;  // that exist
  uint32_t live = 0;   // and have not finished
  uint32_t ready = 0;
  uint32_t tag = 0;  // Tag of lane 0 now
  Fiber* fibers = nullptr;
  Rendezvous all;                  // of all lanes
  std::vector<Rendezvous> groups;  // of some
  unsigned store_actor = 0;        // reads shared memory for the warp's bulk stores; 0: none yet
  uint16_t stores = 0;             // issued
};

struct NamedBarrier {
  unsigned count = 0;  // expected threads; 0: all that live
  unsigned arrived = 0;
  Op op = Op::kNone;
  FfpaEmuReduce reduce{};
  unsigned accumulator = 0;
  std::vector<Fiber*> waiting;
  std::array<const void*, kMaxWarps> places{};  // where each warp's first lane came from
  uint64_t warps = 0;                           // that have come, one bit each
  std::vector<uint16_t> clock;
};

// An mbarrier in shared memory, whose 8 bytes there only say which of these it is (mbarrier.h).
struct Mbarrier {
  uint32_t offset = 0;
  bool fenced = false;  // its initialisation is known to the asynchronous proxy
  unsigned arrivals = 0, pending = 0;
  int64_t bytes = 0;   // expected and not yet come; negative: come and not yet expected
  uint32_t phase = 0;  // under way
  uint32_t init_tag = 0;
  const void* init_place = nullptr;
  // Actors that write what is counted here, whose clock is the number of phases over: bulk copies,
  // and st.async, which is of the generic proxy. 0: none yet.
  unsigned copy_actor = 0, store_actor = 0;
  uint32_t last_copy_phase = 0;  // and who asked for it
  const void* last_copy_place = nullptr;
  const Fiber* last_copier = nullptr;
  std::vector<uint16_t> gathered, released;  // rows: of this phase's arrivals, of the phase before
  std::vector<Fiber*> waiting;
};

struct Block {
  Cluster* cluster = nullptr;
  unsigned rank = 0;
  FfpaEmuIndex index{};
  unsigned char* shared = nullptr;
  ShadowMemory* shadow = nullptr;
  unsigned live_threads = 0;
  unsigned first_warp = 0, num_warps = 0;
  size_t range_hint[2] = {0, 0};
  std::array<NamedBarrier, kNamedBarriers> barriers;
  std::vector<Mbarrier> mbarriers;
  unsigned num_mbarriers = 0;  // of `mbarriers` in use
  std::vector<std::shared_ptr<Warpgroup>> warpgroups;
  unsigned free_registers = 0;  // of the pool that setmaxnreg takes from
  std::vector<Fiber*> waiting_for_registers;
};

// What went wrong, in raw form: the text is made where the image's places can be looked up.
struct Failure {
  std::string what;
  const void* place = nullptr;
  uint32_t other_place = 0;  // of a conflicting access; 0: none
  std::string other;         // who that was
  FfpaEmuIndex block{};
  int warp = -1, lane = -1, thread = -1;  // -1: concerns no single thread
  int64_t shared_offset = -1;             // -1: not about a place in shared memory
  bool out_of_memory = false;
};

// What all blocks of a launch share.
struct Launch {
  FfpaEmuIndex grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint32_t dynamic_shared_bytes = 0;
  uint32_t static_shared_begin = kSharedBytes;
  void (*run)(const void* params) = nullptr;
  const void* params = nullptr;
  const MemoryRanges* ranges = nullptr;
  uintptr_t image_begin = 0, image_end = 0;
  Schedule schedule;
  bool detect_races = true;
};

// What accesses memory for a thread while that goes on (async_actors.h).
struct AsyncActor {
  enum Kind : uint8_t { kBulkLoad, kStoreAsync, kBulkStore, kWgmma } kind = kBulkLoad;
  const Block* block = nullptr;
  unsigned which = 0;  // offset of the mbarrier, warp of the block, warpgroup of the block
};

// A copy to shared memory on its way, in `blocks` of the cluster at once.
struct PendingLoad {
  TensorCopy copy;
  Fiber* issuer = nullptr;
  const void* place = nullptr;
  uint32_t to = 0, barrier = 0;       // offsets
  uint32_t blocks = 0;                // one bit for each rank
  bool generic = false;               // st.async: `copy` holds the bytes
  std::array<uint32_t, 16> phases{};  // of each block's mbarrier when it was issued
  const Block* source = nullptr;      // shared memory it is copied from; null: global
  uint32_t source_offset = 0;
  std::array<unsigned char, 16> bytes{};
};

struct ClusterBarrier {
  unsigned arrived = 0;
  uint32_t phase = 0;
  std::vector<Fiber*> waiting;
  std::vector<uint16_t> gathered, released;  // rows
};

struct Cluster {
  const Launch* launch = nullptr;
  std::vector<Block> blocks;
  std::vector<Warp> warps;
  std::vector<Fiber> fibers;
  std::vector<uint64_t> ready_warps;  // one bit each
  unsigned last_warp = 0;
  unsigned live_threads = 0;
  Fiber main;  // the worker's own stack
  Fiber* current = nullptr;
  Clocks clocks;
  std::vector<AsyncActor> async_actors;  // numbered from warps.size() on
  std::array<uint64_t, Clocks::kMaxActors / 64>
      generic_actors{};           // of the generic proxy, one bit each
  std::deque<PendingLoad> loads;  // oldest first
  ClusterBarrier barrier;
  std::vector<Fiber*> pollers;
  uint64_t progress = 0;  // whatever a poller may have waited for
  uint64_t random = 0;
  unsigned elected_lane = 0;
  bool failed = false;
  Failure failure;
};

inline Fiber& fiber_of(FfpaEmuThread* thread) { return *static_cast<Fiber*>(thread->fiber); }

}  // namespace ffpa_jit::emulator
