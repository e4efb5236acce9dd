// What is known of each byte of a block's shared memory: who wrote it last, who has read it since,
// and whether a copy is on its way. Finds reads of memory never written, accesses in conflict with
// no barrier between, and the use of data that an asynchronous copy has not been waited for.
//
// Kept for 4 bytes at a time, and for single bytes where accesses are smaller. A place's last
// writer is a tag {actor, lane, the actor's clock then}; readers are one tag while they are ordered
// after each other, a vector of clocks otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

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

enum class Hazard : uint8_t {
  kNone,
  kNeverWritten,
  kCopyOutstanding,
  kRaceWithWrite,
  kRaceWithRead
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
  uint16_t* readers(size_t byte) { return readers_.get() + byte * stride_; }

  uint32_t bytes_ = 0;
  unsigned stride_ = 0;
  size_t readers_size_ = 0;
  std::unique_ptr<Cell[]> cells_;       // one for 4 bytes
  std::unique_ptr<Cell[]> byte_cells_;  // one for each byte, valid where the cell is split
  std::unique_ptr<uint16_t[]>
      readers_;  // stride_ clocks for each byte (a cell uses its first), valid where kManyActors
};

}  // namespace ffpa_jit::emulator
