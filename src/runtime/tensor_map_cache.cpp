#include "runtime/tensor_map_cache.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ffpa_jit {

void TensorMapCache::get(Device& device, const TensorMapSpec& spec, TensorMap& to) {
  const size_t slot = XXH3_64bits(&spec, sizeof(spec)) % kEntries;
  {
    const std::lock_guard lock(mutex_);
    if (entries_.empty()) entries_.resize(kEntries);
    if (entries_[slot].spec == spec) {
      to = entries_[slot].map;
      return;
    }
  }
  to = device.encode_tensor_map(spec);
  const std::lock_guard lock(mutex_);
  entries_[slot] = {spec, to};
}

}  // namespace ffpa_jit
