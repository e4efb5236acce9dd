// Dropout decisions of the portable kernel: 64 consecutive elements at a time. The rule:
// docs/semantics.md; Philox4x32-10 as in Salmon et al., SC 2011.
#pragma once

#include <cstdint>

namespace ffpa_jit::portable {

// Bit j: element first + j is kept. 64 elements lie in at most 17 Philox blocks of four.
inline uint64_t kept_elements(uint64_t seed, uint64_t first, float dropout_p) {
  constexpr int kBlocks = 20;  // 17, rounded up to whole vectors
  uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks], c3[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    const uint64_t block = (first >> 2) + i;
    c0[i] = static_cast<uint32_t>(block);
    c1[i] = static_cast<uint32_t>(block >> 32);
    c2[i] = c3[i] = 0;
  }
  uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kBlocks; ++i) {
      const uint64_t product0 = uint64_t{0xD2511F53} * c0[i];
      const uint64_t product1 = uint64_t{0xCD9E8D57} * c2[i];
      c0[i] = static_cast<uint32_t>(product1 >> 32) ^ c1[i] ^ key0;
      c1[i] = static_cast<uint32_t>(product1);
      c2[i] = static_cast<uint32_t>(product0 >> 32) ^ c3[i] ^ key1;
      c3[i] = static_cast<uint32_t>(product0);
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  const uint32_t* lanes[4] = {c0, c1, c2, c3};
  uint64_t kept = 0;
  for (int j = 0; j < 64; ++j) {
    const uint64_t element = (first & 3) + j;
    const float uniform = (static_cast<float>(lanes[element & 3][element >> 2]) + 1.0f) * 0x1p-32f;
    kept |= static_cast<uint64_t>(uniform > dropout_p) << j;
  }
  return kept;
}

}  // namespace ffpa_jit::portable
