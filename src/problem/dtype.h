// Element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ffpa_jit {

enum class DType : uint8_t { kFp32, kFp16, kBf16, kBool, kInt32 };

// "fp32", "fp16", "bf16", "bool", "int32"
std::string_view name_of(DType dtype);
std::optional<DType> dtype_of(std::string_view name);
size_t bytes_of(DType dtype);

}  // namespace ffpa_jit
