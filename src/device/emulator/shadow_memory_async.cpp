// ShadowMemory: accesses in the background.
#include <algorithm>

#include "device/emulator/shadow_memory.h"

namespace ffpa_jit::emulator {

// Whether the write `earlier` happened before, and is visible in the proxy of, an access of `who`.
Hazard ShadowMemory::async_order(uint32_t earlier, const AsyncAccessor& who) const {
  const unsigned actor = Tag::actor(earlier);
  const uint16_t clock = Tag::clock(earlier);
  if (actor == Tag::actor(who.tag)) return Hazard::kNone;
  if (clock > who.clock[actor]) return Hazard::kRaceWithWrite;
  // Another lane of the asking warp, since the warp was last synchronised.
  if (who.issuer && clock != 0 && ((earlier ^ who.issuer) & (Tag::kActor | Tag::kClock)) == 0 &&
      ((earlier ^ who.issuer) & Tag::kWho) != 0)
    return Hazard::kRaceWithWrite;
  if (who.fenced && (who.generic_actors[actor / 64] >> (actor % 64) & 1) &&
      clock > who.fenced[actor])
    return Hazard::kMissingProxyFence;
  return Hazard::kNone;
}

// Calls visit(cell, first byte, index) for each cell, byte cells where a cell is split, up to the
// first hazard.
template <typename Visit>
Finding ShadowMemory::for_each_cell(uint32_t offset, uint32_t bytes, Visit&& visit) {
  for (uint32_t at = offset & ~3u; at < offset + bytes; at += 4) {
    const size_t index = at / 4;
    const unsigned parts = cells_[index].write & kSplit ? 4 : 1;
    for (unsigned i = 0; i < parts; ++i) {
      Cell& cell = parts == 4 ? byte_cells_[at + i] : cells_[index];
      uint32_t other = 0, other_place = 0;
      if (const Hazard hazard = visit(cell, at + i, other, other_place); hazard != Hazard::kNone)
        return {hazard, at + i, other, other_place};
    }
  }
  return {};
}

uint32_t ShadowMemory::with_async_reader(uint32_t set, const AsyncAccessor& who) {
  const uint64_t key = uint64_t{set} << 32 | who.tag;
  if (key == last_joined_) return last_set_;
  last_joined_ = key;
  if (const auto found = async_joined_.find(key); found != async_joined_.end())
    return last_set_ = found->second;
  std::vector<AsyncReader> joined;
  for (const AsyncReader& reader : async_sets_[set]) {
    const unsigned actor = Tag::actor(reader.tag);
    if (actor != Tag::actor(who.tag) && Tag::clock(reader.tag) > who.clock[actor])
      joined.push_back(reader);
  }
  joined.push_back({who.tag, who.place});
  async_sets_.push_back(std::move(joined));
  last_set_ = static_cast<uint32_t>(async_sets_.size() - 1);
  return async_joined_[key] = last_set_;
}

bool ShadowMemory::async_readers_ordered(size_t index, const uint16_t* clock,
                                         Finding& finding) const {
  for (const AsyncReader& reader : async_sets_[async_reads_[index]]) {
    if (Tag::clock(reader.tag) <= clock[Tag::actor(reader.tag)]) continue;
    finding = {Hazard::kRaceWithRead, static_cast<uint32_t>(4 * index), reader.tag, reader.place};
    return false;
  }
  return true;
}

Finding ShadowMemory::async_read(uint32_t offset, uint32_t bytes, const AsyncAccessor& who) {
  if (!has_async_reads_) {
    async_reads_.resize(bytes_ / 4);
    async_sets_.assign(1, {});
    last_joined_ = 0;
    has_async_reads_ = true;
  }
  uint32_t ordered = 0;  // a write known to be
  const Finding finding =
      for_each_cell(offset, bytes, [&](Cell& cell, size_t, uint32_t& other, uint32_t& other_place) {
        if (cell.write == ordered && ordered) return Hazard::kNone;
        other = cell.write;
        other_place = cell.write_place;
        if (cell.write == 0) return Hazard::kNeverWritten;
        if (cell.write & kPending) return Hazard::kCopyOutstanding;
        const Hazard hazard = async_order(cell.write, who);
        if (hazard == Hazard::kNone) ordered = cell.write;
        return hazard;
      });
  if (finding.hazard != Hazard::kNone) return finding;
  uint32_t before = ~0u, after = 0;
  for (size_t index = offset / 4; index < (offset + bytes + 3) / 4; ++index) {
    if (async_reads_[index] != before) {
      before = async_reads_[index];
      after = with_async_reader(before, who);
    }
    async_reads_[index] = after;
  }
  return {};
}

// The generic proxy's reads of a cell happened before a write of `who`. No fence is asked for: that
// they are over is enough.
Hazard ShadowMemory::write_after_reads(const Cell& cell, size_t byte, const AsyncAccessor& who,
                                       uint32_t& other) {
  const uint32_t read = cell.read;
  if (read & kManyActors) {
    const uint16_t* clocks = readers(byte);
    for (unsigned actor = 0; actor < stride_; ++actor) {
      if (clocks[actor] <= who.clock[actor]) continue;
      other = Tag::make(actor, 0, clocks[actor]);  // which lane is not known
      return Hazard::kRaceWithRead;
    }
    return Hazard::kNone;
  }
  other = read;
  if (Tag::clock(read) > who.clock[Tag::actor(read)]) return Hazard::kRaceWithRead;
  const uint32_t differing = read ^ who.issuer;
  if (who.issuer && Tag::clock(read) != 0 && (differing & (Tag::kActor | Tag::kClock)) == 0 &&
      ((read & kManyLanes) || (differing & Tag::kWho)))
    return Hazard::kRaceWithRead;
  return Hazard::kNone;
}

Finding ShadowMemory::begin_async_write(uint32_t offset, uint32_t bytes, const AsyncAccessor& who) {
  uint32_t ordered = 0;
  const Finding finding = for_each_cell(
      offset, bytes, [&](Cell& cell, size_t byte, uint32_t& other, uint32_t& other_place) {
        if (cell.write != ordered) {
          other = cell.write;
          other_place = cell.write_place;
          if (cell.write & kPending) return Hazard::kCopyOutstanding;
          const Hazard hazard = cell.write ? async_order(cell.write, who) : Hazard::kNone;
          if (hazard != Hazard::kNone) return hazard;
          ordered = cell.write;
        }
        if (cell.read == 0) return Hazard::kNone;
        other_place = cell.read_place;
        return write_after_reads(cell, byte, who, other);
      });
  if (finding.hazard != Hazard::kNone) return finding;
  for (uint32_t at = offset & ~3u; at < offset + bytes; at += 4) {
    const size_t index = at / 4;
    if (has_async_reads_ && async_reads_[index]) {
      Finding readers;
      if (!async_readers_ordered(index, who.clock, readers)) return readers;
      async_reads_[index] = 0;
    }
    cells_[index] = {who.tag | kWritten | kPending, 0, who.place, 0};
  }
  return {};
}

void ShadowMemory::land_async_write(uint32_t offset, uint32_t bytes, uint32_t tag, uint32_t place) {
  for (uint32_t at = offset & ~3u; at < offset + bytes; at += 4)
    cells_[at / 4] = {tag | kWritten, 0, place, 0};
}

}  // namespace ffpa_jit::emulator
