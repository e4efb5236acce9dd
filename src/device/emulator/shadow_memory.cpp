#include "device/emulator/shadow_memory.h"

#include <algorithm>
#include <cstring>

namespace ffpa_jit::emulator {
namespace {

// `earlier` is ordered before an access of `who`: the same lane, another lane before the actor's
// last synchronisation, or another actor whose clock has been passed on.
bool ordered(uint32_t earlier, const Accessor& who) {
  const uint32_t differing = earlier ^ who.tag;
  if ((differing & Tag::kActor) == 0)
    return (differing & Tag::kWho) == 0 || (differing & Tag::kClock) != 0;
  return Tag::clock(earlier) <= who.clock[Tag::actor(earlier)];
}

}  // namespace

void ShadowMemory::reset(uint32_t bytes, unsigned stride) {
  if (bytes > bytes_) {
    cells_ = std::make_unique_for_overwrite<Cell[]>(bytes / 4);
    byte_cells_ = std::make_unique_for_overwrite<Cell[]>(bytes);
    bytes_ = bytes;
    readers_size_ = 0;
  }
  stride_ = stride;
  if (size_t{bytes_} * stride > readers_size_) {
    readers_size_ = size_t{bytes_} * stride;
    readers_.reset(new uint16_t[readers_size_]);
  }
  if (has_async_reads_) {
    std::fill(async_reads_.begin(), async_reads_.end(), 0);
    async_sets_.clear();
    async_joined_.clear();
    has_async_reads_ = false;
  }
}

void ShadowMemory::widen(unsigned stride) {
  if (!cells_ || stride <= stride_) return;
  const unsigned before = stride_;
  const std::unique_ptr<uint16_t[]> narrow = std::move(readers_);
  stride_ = stride;
  readers_size_ = size_t{bytes_} * stride;
  readers_.reset(new uint16_t[readers_size_]);
  const auto move = [&](const Cell& cell, size_t byte) {
    if (!(cell.read & kManyActors)) return;
    std::copy_n(narrow.get() + byte * before, before, readers(byte));
    std::fill_n(readers(byte) + before, stride - before, uint16_t{0});
  };
  for (size_t index = 0; index < bytes_ / 4; ++index) {
    if (cells_[index].write == 0) continue;
    if (!(cells_[index].write & kSplit)) {
      move(cells_[index], 4 * index);
    } else {
      for (size_t i = 0; i < 4; ++i) move(byte_cells_[4 * index + i], 4 * index + i);
    }
  }
}

void ShadowMemory::clear(uint32_t begin, uint32_t end) {
  begin &= ~3u;
  end = std::min(bytes_, (end + 3) & ~3u);
  if (begin < end) std::memset(&cells_[begin / 4], 0, size_t{end - begin} / 4 * sizeof(Cell));
}

Hazard ShadowMemory::read_cell(Cell& cell, size_t byte, const Accessor& who) {
  if (cell.write == 0) return Hazard::kNeverWritten;
  if (cell.write & kPending) return Hazard::kCopyOutstanding;
  if (!ordered(cell.write, who)) return Hazard::kRaceWithWrite;

  const uint32_t before = cell.read;
  const uint32_t tag = who.tag | kRead;
  if (before == tag) return Hazard::kNone;
  if (before & kManyActors) {
    readers(byte)[Tag::actor(tag)] = Tag::clock(tag);
    cell.read = tag | kManyActors;
  } else if (before == 0 || ordered(before, who)) {
    // What comes after this read comes after the one before it too.
    cell.read = tag;
  } else if (((before ^ tag) & Tag::kActor) == 0) {
    cell.read = tag | kManyLanes;
  } else {
    uint16_t* clocks = readers(byte);
    std::fill_n(clocks, stride_, uint16_t{0});
    clocks[Tag::actor(before)] = Tag::clock(before);
    clocks[Tag::actor(tag)] = Tag::clock(tag);
    cell.read = tag | kManyActors;
  }
  cell.read_place = who.place;
  return Hazard::kNone;
}

Hazard ShadowMemory::write_cell(Cell& cell, size_t byte, const Accessor& who) {
  if (cell.write & kPending) return Hazard::kCopyOutstanding;
  if (cell.write != 0 && !ordered(cell.write, who)) return Hazard::kRaceWithWrite;
  if (const uint32_t before = cell.read) {
    if (before & kManyActors) {
      const uint16_t* clocks = readers(byte);
      const unsigned own = Tag::actor(who.tag);
      for (unsigned actor = 0; actor < stride_; ++actor) {
        if (clocks[actor] <= who.clock[actor] || actor == own) continue;
        cell.read =
            Tag::make(actor, 0, clocks[actor]) | kRead;  // for the report; which lane is not known
        return Hazard::kRaceWithRead;
      }
      if (((before ^ who.tag) & Tag::kActor) == 0 && !ordered(before, who))
        return Hazard::kRaceWithRead;
    } else if (before & kManyLanes) {
      const bool same_actor = ((before ^ who.tag) & Tag::kActor) == 0;
      if (same_actor ? Tag::clock(before) == Tag::clock(who.tag) : !ordered(before, who))
        return Hazard::kRaceWithRead;
    } else if (!ordered(before, who)) {
      return Hazard::kRaceWithRead;
    }
  }
  cell.write = who.tag | kWritten;
  cell.write_place = who.place;
  cell.read = 0;
  return Hazard::kNone;
}

template <bool kWrite>
Hazard ShadowMemory::access_cell(Cell& cell, size_t byte, const Accessor& who) {
  if constexpr (kWrite) {
    return write_cell(cell, byte, who);
  } else {
    return read_cell(cell, byte, who);
  }
}

void ShadowMemory::split(size_t index) {
  const Cell whole = cells_[index];
  for (size_t i = 0; i < 4; ++i) {
    byte_cells_[4 * index + i] = whole;
    if (i > 0 && (whole.read & kManyActors))
      std::copy_n(readers(4 * index), stride_, readers(4 * index + i));
  }
  cells_[index].write |= kSplit;
}

template <bool kWrite>
Finding ShadowMemory::access(uint32_t offset, uint32_t bytes, const Accessor& who) {
  const uint32_t end = offset + bytes;
  for (uint32_t at = offset; at < end;) {
    const size_t index = at / 4;
    const uint32_t next = std::min(end, (at & ~3u) + 4);
    Cell& cell = cells_[index];
    if (kWrite && has_async_reads_ && async_reads_[index]) {
      Finding finding;
      if (!async_readers_ordered(index, who.clock, finding)) return finding;
      async_reads_[index] = 0;
    }
    const bool whole = next - at == 4;
    if (whole && !(cell.write & kSplit)) {
      if (const Hazard hazard = access_cell<kWrite>(cell, 4 * index, who);
          hazard != Hazard::kNone) {
        const bool read = hazard == Hazard::kRaceWithRead;
        return {hazard, at, read ? cell.read : cell.write,
                read ? cell.read_place : cell.write_place};
      }
      at = next;
      continue;
    }
    if (!(cell.write & kSplit)) split(index);
    for (; at < next; ++at) {
      Cell& byte = byte_cells_[at];
      if (const Hazard hazard = access_cell<kWrite>(byte, at, who); hazard != Hazard::kNone) {
        const bool read = hazard == Hazard::kRaceWithRead;
        return {hazard, at, read ? byte.read : byte.write,
                read ? byte.read_place : byte.write_place};
      }
    }
    if (kWrite && whole) cell = {who.tag | kWritten, 0, who.place, 0};
  }
  return {};
}

Finding ShadowMemory::read(uint32_t offset, uint32_t bytes, const Accessor& who) {
  return access<false>(offset, bytes, who);
}
Finding ShadowMemory::write(uint32_t offset, uint32_t bytes, const Accessor& who) {
  return access<true>(offset, bytes, who);
}

Finding ShadowMemory::begin_copy(uint32_t offset, uint32_t bytes, const Accessor& who) {
  const Finding finding = write(offset, bytes, who);
  if (finding.hazard != Hazard::kNone) return finding;
  for (uint32_t at = offset; at < offset + bytes; at += 4) cells_[at / 4].write |= kPending;
  return {};
}

void ShadowMemory::land_copy(uint32_t offset, uint32_t bytes, const Accessor& who) {
  for (uint32_t at = offset; at < offset + bytes; at += 4)
    cells_[at / 4] = {who.tag | kWritten, 0, who.place, 0};
}

void ShadowMemory::order_all(uint32_t bytes) {
  const auto order = [](Cell& cell) {
    if (cell.write != 0) cell.write = (cell.write & ~Tag::kClock) | kWritten;
    cell.read = 0;
  };
  if (has_async_reads_) std::fill(async_reads_.begin(), async_reads_.end(), 0);
  for (uint32_t index = 0; index < bytes / 4; ++index) {
    order(cells_[index]);
    if (!(cells_[index].write & kSplit)) continue;
    for (uint32_t i = 0; i < 4; ++i) order(byte_cells_[4 * index + i]);
  }
}

}  // namespace ffpa_jit::emulator
