// The one exception type inside the library. It becomes a status code only at the C boundary
// (src/api/).
//
// A message says three things: what was asked, what is allowed, what to do next.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "ffpa_jit/ffpa_jit.h"

namespace ffpa_jit {

class Error : public std::runtime_error {
 public:
  Error(ffpa_jit_status code, const std::string& message)
      : std::runtime_error(message), code_(code) {}

  ffpa_jit_status code() const noexcept { return code_; }

 private:
  ffpa_jit_status code_;
};

// throw_error(FFPA_JIT_INVALID_ARGUMENT, "head_dim is {}; allowed: 1 to 2048", d);
template <typename... Args>
[[noreturn]] void throw_error(ffpa_jit_status code, fmt::format_string<Args...> format,
                              Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace ffpa_jit
