// SyntheticInputs: tensors for a problem in a device's memory, to be timed, not judged: one block
// of random numbers, repeated, so that a gigabyte takes no longer to make than to copy. `run` and
// `verify` take host_problem.h.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "ffpa-jit/problem_spec.h"
#include "ffpa-jit/recorded_problem.h"
#include "ffpa_jit/ffpa_jit.hpp"

namespace ffpa_jit::cli {

class SyntheticInputs {
 public:
  // Throws Error OUT_OF_MEMORY.
  SyntheticInputs(const RecordedProblem& problem, const DeviceRef& ref,
                  std::shared_ptr<Device> device);
  ~SyntheticInputs();
  SyntheticInputs(const SyntheticInputs&) = delete;
  SyntheticInputs& operator=(const SyntheticInputs&) = delete;

  const ffpa::Attention& args() const { return args_; }

 private:
  void set_tensors(const RecordedProblem& problem);
  void set_key_lengths(const RecordedProblem& problem);
  ffpa_jit_tensor random(DType dtype, std::vector<int64_t> sizes);
  ffpa_jit_tensor filled(ffpa_jit_dtype dtype, std::vector<int64_t> sizes,
                         const std::vector<int32_t>& values);
  ffpa_jit_tensor empty(ffpa_jit_dtype dtype, std::vector<int64_t> sizes, size_t element_bytes);

  std::shared_ptr<Device> device_;
  std::string family_, modifier_;
  ffpa::Attention args_;
  std::vector<void*> allocations_;
};

}  // namespace ffpa_jit::cli
