// What the emulator knows while a cluster of thread blocks runs: threads (fibers), warps, blocks,
// the cluster. One worker thread runs one cluster at a time; nothing here is shared between
// workers. The instruction files change it, the scheduler (scheduler.h) switches between the
// fibers.
#pragma once

#include <array>
#include <boost/context/detail/fcontext.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/emulator/clocks.h"
#include "device/emulator/fiber_stacks.h"
#include "device/emulator/memory_ranges.h"
#include "device/emulator/options.h"
#include "device/emulator/shadow_memory.h"
#include "device/emulator/table.h"

namespace ffpa_jit::emulator {

constexpr uint32_t kSharedBytes =
    227 * 1024;  // the most that any block has; static variables lie at its end
constexpr unsigned kWarpSize = 32;
constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxWarps = kMaxThreads / kWarpSize;
constexpr unsigned kNamedBarriers = 16;

struct Cluster;
struct Block;
struct Warp;

// What a thread is doing while it waits, by its PTX name.
enum class Op : uint8_t {
  kNone,
  kBarSync,
  kBarArrive,
  kBarRed,
  kBarWarpSync,
  kShuffle,
  kVote,
  kMma,
  kLdmatrix,
  kStmatrix
};
const char* name_of(Op op);

struct Wait {
  Op op = Op::kNone;
  unsigned detail = 0;  // barrier number
  const void* place = nullptr;
};

// cp.async: lands when its thread waits for the group it is in.
struct PendingCopy {
  uint32_t to;
  uint32_t bytes, source_bytes;
  const void* from;
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
  Wait wait;
  unsigned result = 0;  // of a reduction, set by whoever completed it
  std::vector<PendingCopy> copies;
  SanitizerState sanitizer;
  std::vector<uint32_t> copy_groups;  // end in `copies` of each committed group, oldest first
};

// Lanes that meet at one warp-wide instruction.
struct Rendezvous {
  uint32_t members = 0, arrived = 0;
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
  uint64_t random = 0;
  bool failed = false;
  Failure failure;
};

inline Fiber& fiber_of(FfpaEmuThread* thread) { return *static_cast<Fiber*>(thread->fiber); }

}  // namespace ffpa_jit::emulator
