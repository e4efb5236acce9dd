// A runtime whose cache is a directory of its own, gone with it.
#pragma once

#include <stdexcept>

#include "api/temporary_directory.h"
#include "ffpa_jit/ffpa_jit.h"

namespace ffpa_jit::test {

class TemporaryRuntime {
 public:
  // 0 threads: as many as this process may use.
  explicit TemporaryRuntime(int num_threads = 0) {
    ffpa_jit_runtime_options options = FFPA_JIT_RUNTIME_OPTIONS_INIT;
    options.cache_dir = directory_.path().c_str();
    options.num_threads = num_threads;
    if (ffpa_jit_runtime_create(&options, &runtime_) != FFPA_JIT_OK) {
      throw std::runtime_error(ffpa_jit_last_error());
    }
  }
  ~TemporaryRuntime() { ffpa_jit_runtime_destroy(runtime_); }
  TemporaryRuntime(const TemporaryRuntime&) = delete;
  TemporaryRuntime& operator=(const TemporaryRuntime&) = delete;

  operator ffpa_jit_runtime*() const { return runtime_; }

 private:
  TemporaryDirectory directory_;
  ffpa_jit_runtime* runtime_ = nullptr;
};

}  // namespace ffpa_jit::test
