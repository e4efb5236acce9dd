#include "problem/dtype.h"

namespace ffpa_jit {
namespace {

struct Entry {
  DType dtype;
  std::string_view name;
  size_t bytes;
};

constexpr Entry kDTypes[] = {
    {DType::kFp32, "fp32", 4}, {DType::kFp16, "fp16", 2},   {DType::kBf16, "bf16", 2},
    {DType::kBool, "bool", 1}, {DType::kInt32, "int32", 4},
};

}  // namespace

std::string_view name_of(DType dtype) {
  for (const Entry& e : kDTypes) {
    if (e.dtype == dtype) return e.name;
  }
  return "unknown";
}

std::optional<DType> dtype_of(std::string_view name) {
  for (const Entry& e : kDTypes) {
    if (e.name == name) return e.dtype;
  }
  return std::nullopt;
}

size_t bytes_of(DType dtype) {
  for (const Entry& e : kDTypes) {
    if (e.dtype == dtype) return e.bytes;
  }
  return 0;
}

}  // namespace ffpa_jit
