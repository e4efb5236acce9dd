// How a kernel lies in a row: compressed, with a digest over everything a look-up returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "cache/store.h"

namespace ffpa_jit {

// Larger kernels are not stored; a row that claims to be larger is damaged (and must not make us
// allocate it).
inline constexpr int64_t kMaxKernelBytes = int64_t{256} << 20;

struct PackedKernel {
  int64_t id = 0;       // row; 0 before it is stored
  StoredKernel kernel;  // `bytes` empty
  Hash128 digest;
  int64_t raw_bytes = 0;
  int64_t last_used = 0;  // unix seconds
  std::vector<std::byte> packed;
};

PackedKernel pack(const StoredKernel& kernel);
// nullopt: the row is damaged. Takes `packed` over.
std::optional<StoredKernel> unpack(PackedKernel&& packed);

Hash128 digest_of(const Tuning& tuning);

}  // namespace ffpa_jit
