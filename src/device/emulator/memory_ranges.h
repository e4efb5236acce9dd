// Which global memory a kernel may touch. Called for every access of an emulated thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"

namespace ffpa_jit::emulator {

class MemoryRanges {
 public:
  struct Range {
    uintptr_t begin = 0, end = 0;
    bool writable = true;
    std::string name;
  };

  void add(const MemoryRange& range);

  // The range that holds all of [begin, begin + bytes) and may be used this way, or null. `hint` is
  // the caller's own, 0 at first: the ranges of successive accesses are mostly the same.
  const Range* find(uintptr_t begin, uint64_t bytes, bool write, size_t& hint) const {
    if (hint < ranges_.size() && serves(ranges_[hint], begin, bytes, write)) return &ranges_[hint];
    for (size_t i = 0; i < ranges_.size(); ++i) {
      if (!serves(ranges_[i], begin, bytes, write)) continue;
      hint = i;
      return &ranges_[i];
    }
    return nullptr;
  }

  // Why find() gave null: "48 bytes past the end of k (4096 bytes)".
  std::string describe(uintptr_t begin, uint64_t bytes, bool write) const;

 private:
  static bool serves(const Range& range, uintptr_t begin, uint64_t bytes, bool write) {
    return begin >= range.begin && begin + bytes <= range.end && (range.writable || !write);
  }

  std::vector<Range> ranges_;
};

}  // namespace ffpa_jit::emulator
