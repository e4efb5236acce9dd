// KernelConfig: the tunable numbers of one kernel. 0 means: this family has no such number.
#pragma once

#include <string>
#include <string_view>

namespace ffpa_jit {

struct KernelConfig {
  int block_m = 0;     // query rows per tile
  int block_n = 0;     // keys per tile
  int block_d = 0;     // head-dim slice per step
  int num_stages = 0;  // depth of the load pipeline
  int num_warps = 0;
  int cluster = 0;
  int split_kv = 0;

  bool operator==(const KernelConfig&) const = default;
};

// "block_m=64 block_n=64 num_warps=4": non-zero fields in declaration order.
std::string text_of(const KernelConfig& config);
KernelConfig parse_config(std::string_view text);  // throws Error INVALID_ARGUMENT

}  // namespace ffpa_jit
