// Reader and writer of NumPy's .npy files, versions 1 to 3
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
//
// Fortran-order arrays come back in C order. NumPy has no bfloat16: arrays of it (as ml_dtypes
// saves them) have the descriptor V2, which is read as bf16.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/host_tensor.h"

namespace ffpa_jit::io {

struct NpyHeader {
  Element element = Element::kFp32;
  bool fortran_order = false;
  std::vector<int64_t> sizes;
};

// The dictionary literal of an .npy file, e.g. "{'descr': '<f4', 'fortran_order': False, 'shape':
// (2, 3), }".
NpyHeader parse_npy_header(std::string_view header, const std::string& file);

HostTensor read_npy(const std::filesystem::path& path);
// Atomic. bf16 is written with the descriptor V2.
void write_npy(const std::filesystem::path& path, const HostTensor& tensor);

}  // namespace ffpa_jit::io
