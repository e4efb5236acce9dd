// TensorMapCache: the tensor maps that launches used last, by what they describe. A host that calls
// again with the same tensors pays a look-up, not an encoding. Thread-safe; one per device.
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "device/device.h"
#include "device/tensor_map.h"

namespace ffpa_jit {

class TensorMapCache {
 public:
  // Throws what Device::encode_tensor_map throws.
  void get(Device& device, const TensorMapSpec& spec, TensorMap& to);

 private:
  struct Entry {
    TensorMapSpec spec;
    TensorMap map;
  };
  // Direct-mapped: a model's layers come round in the same order, and what collides is encoded
  // anew.
  static constexpr size_t kEntries = 1024;

  std::mutex mutex_;
  std::vector<Entry> entries_;  // kEntries, once used
};

}  // namespace ffpa_jit
