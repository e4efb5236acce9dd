// HostTensor: one array as the readers of this folder return it and its writers take it. Bytes in C
// order, little endian; which element types a file may hold is a closed list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ffpa_jit::io {

enum class Element : uint8_t { kFp32, kFp16, kBf16, kBool, kUint8, kInt32, kInt64 };

// "fp32", "fp16", "bf16", "bool", "uint8", "int32", "int64"
std::string_view name_of(Element element);
size_t bytes_of(Element element);

struct HostTensor {
  Element element = Element::kFp32;
  std::vector<int64_t> sizes;
  std::vector<std::byte> bytes;

  int64_t elements() const { return static_cast<int64_t>(bytes.size() / bytes_of(element)); }
  bool operator==(const HostTensor&) const = default;
};

using NamedTensors = std::map<std::string, HostTensor>;

// Bytes of an array; nullopt when a size is negative or the product passes 2^63. Readers compare it
// with what the file holds before they allocate anything.
std::optional<int64_t> bytes_of(std::span<const int64_t> sizes, Element element);

// "[2, 16, 128]"
std::string text_of(std::span<const int64_t> sizes);

}  // namespace ffpa_jit::io
