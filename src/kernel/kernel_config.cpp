#include "kernel/kernel_config.h"

#include <fmt/format.h>

#include <limits>

#include "problem/canonical_text.h"

namespace ffpa_jit {
namespace {

struct Field {
  std::string_view name;
  int KernelConfig::*member;
};

constexpr Field kFields[] = {
    {"block_m", &KernelConfig::block_m},     {"block_n", &KernelConfig::block_n},
    {"block_d", &KernelConfig::block_d},     {"num_stages", &KernelConfig::num_stages},
    {"num_warps", &KernelConfig::num_warps}, {"cluster", &KernelConfig::cluster},
    {"split_kv", &KernelConfig::split_kv},
};

constexpr std::string_view kAllowed =
    "block_m=, block_n=, block_d=, num_stages=, num_warps=, cluster=, split_kv=, in this order, "
    "each at most "
    "once";

}  // namespace

std::string text_of(const KernelConfig& config) {
  std::string text;
  for (const Field& field : kFields) {
    if (config.*field.member == 0) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", field.name, config.*field.member);
  }
  return text;
}

KernelConfig parse_config(std::string_view text) {
  CanonicalReader reader("kernel config", text);
  KernelConfig config;
  for (const Field& field : kFields) {
    if (const auto digits = reader.take_value(field.name)) {
      config.*field.member = static_cast<int>(
          reader.to_integer(field.name, *digits, 1, std::numeric_limits<int>::max()));
    }
  }
  reader.finish(kAllowed);
  return config;
}

}  // namespace ffpa_jit
