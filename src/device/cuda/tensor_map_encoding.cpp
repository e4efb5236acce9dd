#include "device/cuda/tensor_map_encoding.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace ffpa_jit::cuda {
namespace {

int data_type_of(TensorElement element) {
  switch (element) {
    case TensorElement::kFp16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case TensorElement::kBf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case TensorElement::kUint8:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case TensorElement::kFp32:
      break;
  }
  return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}

// CU_TENSOR_MAP_SWIZZLE_{NONE,32B,64B,128B} are 0 to 3, as TensorSwizzle's.
int swizzle_of(TensorSwizzle swizzle) { return static_cast<int>(swizzle); }

}  // namespace

TensorMap encode_tensor_map(const Driver& driver, const TensorMapSpec& spec) {
  if (!driver.cuTensorMapEncodeTiled) {
    throw_error(FFPA_JIT_UNSUPPORTED,
                "a kernel that loads by TMA needs a driver of CUDA 12 or later, this one is CUDA "
                "{}.{}: update it, or force another family",
                driver.version() / 1000, driver.version() % 1000 / 10);
  }
  constexpr unsigned kEveryElement[kMaxTensorMapRank] = {1, 1, 1, 1, 1};
  unsigned long long sizes[kMaxTensorMapRank], strides[kMaxTensorMapRank - 1];
  unsigned box[kMaxTensorMapRank];
  for (int i = 0; i < spec.rank; ++i) {
    sizes[i] = spec.sizes[i];
    box[i] = spec.box[i];
    if (i > 0) strides[i - 1] = spec.strides[i - 1];
  }
  TensorMap map;
  const CUresult result = driver.cuTensorMapEncodeTiled(
      map.words, data_type_of(spec.element), spec.rank, const_cast<void*>(spec.address), sizes,
      strides, box, kEveryElement, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(spec.swizzle),
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    driver.check(result, "cuTensorMapEncodeTiled",
                 fmt::format("describing the tensor at {} of sizes {}, byte strides {}, box {}",
                             spec.address, fmt::join(sizes, sizes + spec.rank, " x "),
                             fmt::join(strides, strides + spec.rank - 1, ", "),
                             fmt::join(box, box + spec.rank, " x ")));
  }
  return map;
}

}  // namespace ffpa_jit::cuda
