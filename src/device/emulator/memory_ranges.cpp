#include "device/emulator/memory_ranges.h"

#include <fmt/format.h>

namespace ffpa_jit::emulator {

void MemoryRanges::add(const MemoryRange& range) {
  const auto begin = reinterpret_cast<uintptr_t>(range.begin);
  ranges_.push_back({begin, begin + range.bytes, range.writable, std::string(range.name)});
}

std::string MemoryRanges::describe(uintptr_t begin, uint64_t bytes, bool write) const {
  const Range* nearest = nullptr;
  uint64_t distance = UINT64_MAX;
  for (const Range& range : ranges_) {
    if (write && !range.writable && begin >= range.begin && begin < range.end) {
      return fmt::format("{} bytes into {}, which the kernel may only read", begin - range.begin,
                         range.name);
    }
    uint64_t gap = 0;
    if (begin >= range.end) gap = begin - range.end + 1;
    if (begin < range.begin) gap = range.begin - begin;
    if (gap >= distance) continue;
    nearest = &range;
    distance = gap;
  }
  constexpr uint64_t kFar = uint64_t{1} << 20;
  if (!nearest || distance > kFar)
    return fmt::format("at {:#x}, which is in none of the launch's tensors", begin);
  const uint64_t size = nearest->end - nearest->begin;
  if (begin < nearest->begin)
    return fmt::format("{} bytes before {} ({} bytes)", nearest->begin - begin, nearest->name,
                       size);
  if (begin >= nearest->end)
    return fmt::format("{} bytes past the end of {} ({} bytes)", begin - nearest->end,
                       nearest->name, size);
  return fmt::format("{} bytes into {} ({} bytes), reaching {} bytes past its end",
                     begin - nearest->begin, nearest->name, size, begin + bytes - nearest->end);
}

}  // namespace ffpa_jit::emulator
