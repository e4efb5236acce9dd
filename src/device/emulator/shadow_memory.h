// What is known of each byte of a block's shared memory: who wrote it last, who has read it since,
// and whether a copy is on its way. Finds reads of memory never written, accesses in conflict with
// no barrier between, and the use of data that an asynchronous copy has not been waited for.
//
// Kept for 4 bytes at a time, and for single bytes where accesses are smaller. A place's last
// writer is a tag {actor, lane, the actor's clock then}; readers are one tag while they are ordered
// after each other, a vector of clocks otherwise. Readers in the background (wgmma, bulk stores)
// read large tiles, several of them the same one: a place holds the number of its set of such
// readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace ffpa_jit::emulator {

// {clock, lane, actor}; the bits above are the cells' own.
struct Tag {
  static constexpr uint32_t kClock = 0xffff, kLaneShift = 16, kActorShift = 21;
  static constexpr uint32_t kWho = 0x1fffu << kLaneShift, kActor = 0xffu << kActorShift;
  static uint32_t make(unsigned actor, unsigned lane, uint16_t clock) {
    return actor << kActorShift | lane << kLaneShift | clock;
  }
  static unsigned actor(uint32_t tag) { return tag >> kActorShift & 0xff; }
  static unsigned lane(uint32_t tag) { return tag >> kLaneShift & 31; }
  static uint16_t clock(uint32_t tag) { return static_cast<uint16_t>(tag); }
};

// Who accesses, and from where in the kernel.
struct Accessor {
  uint32_t tag;
  const uint16_t* clock;
  uint32_t place;  // low half of the address in the image
};

// What works in the background for a thread that asked it to.
struct AsyncAccessor {
  uint32_t tag = 0;
  const uint16_t* clock = nullptr;  // what the asking thread knows
  uint32_t place = 0;
  uint32_t issuer = 0;  // the asking thread's tag; 0: they are many
  // What of it is known to the asynchronous proxy, and which actors are not of that proxy; null: an
  // access of the generic proxy.
  const uint16_t* fenced = nullptr;
  const uint64_t* generic_actors = nullptr;
};

enum class Hazard : uint8_t {
  kNone,
  kNeverWritten,
  kCopyOutstanding,
  kRaceWithWrite,
  kRaceWithRead,
  kMissingProxyFence
};

struct Finding {
  Hazard hazard = Hazard::kNone;
  uint32_t offset = 0;  // of the first byte concerned
  uint32_t other = 0;   // tag of the other access
  uint32_t other_place = 0;
};

class ShadowMemory {
 public:
  // For `bytes` of shared memory (a multiple of 4) and clocks of `stride` actors; everything counts
  // as never written.
  void reset(uint32_t bytes, unsigned stride);
  // Forgets what [begin, end) held.
  void clear(uint32_t begin, uint32_t end);

  Finding read(uint32_t offset, uint32_t bytes, const Accessor& who);
  Finding write(uint32_t offset, uint32_t bytes, const Accessor& who);
  // A copy that will write this; until land() any access is a hazard. Multiples of 4 bytes.
  Finding begin_copy(uint32_t offset, uint32_t bytes, const Accessor& who);
  void land_copy(uint32_t offset, uint32_t bytes, const Accessor& who);

  // The same in the background, multiples of 4 bytes.
  Finding async_read(uint32_t offset, uint32_t bytes, const AsyncAccessor& who);
  Finding begin_async_write(uint32_t offset, uint32_t bytes, const AsyncAccessor& who);
  void land_async_write(uint32_t offset, uint32_t bytes, uint32_t tag, uint32_t place);

  // Clocks of `stride` actors from now on, more than before.
  void widen(unsigned stride);
  // After a barrier of everybody: all accesses so far are ordered before all to come. Lets clocks
  // start again.
  void order_all(uint32_t bytes);

 private:
  struct Cell {
    uint32_t write, read;
    uint32_t write_place, read_place;
  };
  static constexpr uint32_t kWritten = 1u << 31;
  static constexpr uint32_t kPending = 1u << 29;     // write: a copy is on its way
  static constexpr uint32_t kSplit = 1u << 30;       // write: see the four byte cells
  static constexpr uint32_t kManyLanes = 1u << 29;   // read: several lanes of the actor
  static constexpr uint32_t kManyActors = 1u << 30;  // read: see the vector
  static constexpr uint32_t kRead = 1u << 31;

  template <bool kWrite>
  Finding access(uint32_t offset, uint32_t bytes, const Accessor& who);
  template <bool kWrite>
  Hazard access_cell(Cell& cell, size_t byte, const Accessor& who);
  Hazard read_cell(Cell& cell, size_t byte, const Accessor& who);
  Hazard write_cell(Cell& cell, size_t byte, const Accessor& who);
  void split(size_t index);
  Hazard async_order(uint32_t earlier, const AsyncAccessor& who) const;
  template <typename Visit>
  Finding for_each_cell(uint32_t offset, uint32_t bytes, Visit&& visit);
  Hazard write_after_reads(const Cell& cell, size_t byte, const AsyncAccessor& who,
                           uint32_t& other);
  uint32_t with_async_reader(uint32_t set, const AsyncAccessor& who);
  // The first of the cell's readers in the background whose end `clock` does not know of.
  bool async_readers_ordered(size_t index, const uint16_t* clock, Finding& finding) const;
  uint16_t* readers(size_t byte) { return readers_.get() + byte * stride_; }

  uint32_t bytes_ = 0;
  unsigned stride_ = 0;
  size_t readers_size_ = 0;
  std::unique_ptr<Cell[]> cells_;       // one for 4 bytes
  std::unique_ptr<Cell[]> byte_cells_;  // one for each byte, valid where the cell is split
  std::unique_ptr<uint16_t[]>
      readers_;  // stride_ clocks for each byte (a cell uses its first), valid where kManyActors

  struct AsyncReader {
    uint32_t tag, place;
  };
  std::vector<uint32_t> async_reads_;                    // a set for each cell; 0: none
  std::vector<std::vector<AsyncReader>> async_sets_;     // [0] is empty
  std::unordered_map<uint64_t, uint32_t> async_joined_;  // {set, tag} -> the set with that reader
  uint64_t last_joined_ = 0;                             // of these, the one looked up last
  uint32_t last_set_ = 0;
  bool has_async_reads_ = false;
};

}  // namespace ffpa_jit::emulator
