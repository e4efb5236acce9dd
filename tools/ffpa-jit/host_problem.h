// HostProblem: a problem with its tensors in host memory: generated, or read from a file. The judge
// (check.h) reads it there; on_device.h copies it where it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ffpa-jit/problem_spec.h"
#include "io/host_tensor.h"

namespace ffpa_jit::cli {

struct HostProblem {
  std::string name;      // prefix in the file, or the spec's short text
  ffpa::Attention args;  // data in `memory`
  std::vector<std::unique_ptr<std::byte[]>> memory;
  std::string family;                      // args.family points here
  std::string score_modifier;              // args.score_modifier points here
  std::optional<io::HostTensor> expected;  // "out" of a file, shaped as O
  std::optional<uint64_t> seed;            // generated inputs only

  // Uninitialised memory for a described tensor; its data pointer is set. Throws OUT_OF_MEMORY.
  void allocate(ffpa_jit_tensor& tensor);
};

// Elements of a packed tensor.
int64_t elements_of(const ffpa_jit_tensor& tensor);
size_t bytes_of(const ffpa_jit_tensor& tensor);

// Normal Q, K, V and bias; masks with four keys of five visible; features as fill_features() says;
// dropout numbers from the same seed.
std::unique_ptr<HostProblem> generate_problem(const ProblemSpec& spec, const DeviceRef& device,
                                              uint64_t seed);

uint64_t fresh_seed();

}  // namespace ffpa_jit::cli
