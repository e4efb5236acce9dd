// Sizes and names of host arrays.
#include "io/host_tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

namespace ffpa_jit::io {
namespace {

struct ElementFacts {
  std::string_view name;
  size_t bytes;
};
constexpr std::array<ElementFacts, 7> kElements = {{
    {"fp32", 4},
    {"fp16", 2},
    {"bf16", 2},
    {"bool", 1},
    {"uint8", 1},
    {"int32", 4},
    {"int64", 8},
}};

}  // namespace

std::string_view name_of(Element element) { return kElements[static_cast<size_t>(element)].name; }
size_t bytes_of(Element element) { return kElements[static_cast<size_t>(element)].bytes; }

std::optional<int64_t> bytes_of(std::span<const int64_t> sizes, Element element) {
  int64_t product = static_cast<int64_t>(bytes_of(element));
  for (const int64_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(product, size, &product)) return std::nullopt;
  }
  return product;
}

std::string text_of(std::span<const int64_t> sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

}  // namespace ffpa_jit::io
