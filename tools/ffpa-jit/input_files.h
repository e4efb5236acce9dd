// Problems from files: .safetensors, .npy files, or a directory of .npy files.
//
// Tensors: q, k, v; optionally mask (true = visible), bias, out (expected), cu_seqlens_q,
// cu_seqlens_k. A file that holds several problems names them "layers.0.q", "layers.1.q", ...; each
// prefix is one problem. A mask or bias without a prefix belongs to every problem that has none of
// its own.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ffpa-jit/host_problem.h"

namespace ffpa_jit::cli {

// What a file does not say comes from `spec` (causal, window, softcap, dropout, scale, lse, layout,
// family), its sizes and dtype are ignored; `dtype` converts Q, K and V. Throws Error
// INVALID_ARGUMENT or IO_ERROR naming file and tensor.
std::vector<std::unique_ptr<HostProblem>> read_problems(
    const std::vector<std::filesystem::path>& inputs, const std::optional<std::string>& prefix,
    const ProblemSpec& spec, std::optional<DType> dtype, const DeviceRef& device, uint64_t seed);

}  // namespace ffpa_jit::cli
